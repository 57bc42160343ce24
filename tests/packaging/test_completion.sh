#!/bin/sh
# What bash and zsh complete. Usage: test_completion.sh FOLDER FARFAULT FARFAULT.BASH _FARFAULT
set -eu
folder=$1 bash_file=$3 zsh_file=$4
rm -rf "$folder"
mkdir -p "$folder/files"
PATH=$(dirname "$2"):$PATH
export PATH
cd "$folder/files"
touch some.trace 'another one.trace'

bash --norc <<END
. "$bash_file"
# offers WORD... -- REPLY...: completing the last word offers these, at least.
offers() {
    COMP_WORDS=()
    while [[ \$1 != -- ]]; do COMP_WORDS+=("\$1"); shift; done
    shift
    COMP_CWORD=\$((\${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _farfault 2>/dev/null
    for reply; do
        [[ " \${COMPREPLY[*]} " == *" \$reply "* ]] && continue
        echo "bash: \${COMP_WORDS[*]}: '\${COMPREPLY[*]}' lacks \$reply"
        exit 1
    done
}
offers farfault '' -- run compare sim list help
offers farfault re -- record replay repro
offers farfault run --sys -- --system=
offers farfault run --system = nvid -- nvidia nvidia-1
offers farfault run -s dee -- deepum deepum-plus
offers farfault sim --systems demand,kee -- demand,keep
offers farfault sim --gpu v100 -- v100-16g
offers farfault sim hots -- hotspot
offers farfault compare jac -- jacobi
offers farfault list sys -- systems
offers farfault list policies lru -- lru-2m
offers farfault repro hu -- huvm
offers farfault import acc -- accel-sim
offers farfault import --output = some auto so -- some.trace
offers farfault help tra -- train
offers farfault replay some -- some.trace
offers farfault replay ano -- 'another one.trace'
[[ \${#COMPREPLY[@]} = 1 ]] || { echo "bash: a name with a space is several"; exit 1; }
offers farfault predict some -- some.trace
offers farfault predict some.trace hots -- hotspot
offers farfault run --mechanism '' -- auto move copy
offers farfault train --split = t -- time
END

cp "$zsh_file" "$folder/_farfault"
cat >"$folder/drive.zsh" <<END
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='ready ' PATH='\$PATH' fpath=('$folder' \\\$fpath)"
zpty -w shell "autoload -U compinit; compinit -u -D; bindkey '^I' complete-word; echo beg''un"
zpty -r shell seen '*begun*'
# offers TYPED TEXT: after a tab the text is on the screen.
offers() {
    print -r -- "zsh: \$1: waits for '\$2'" # if that does not come, this is the last line
    zpty -w -n shell \$1\$'\t'
    zpty -r shell seen "*\$2*"
    zpty -w -n shell \$'\x15'
}
offers 'farfault comp' 'farfault compare'
offers 'farfault sim --sys' '--systems'
offers 'farfault run --system=deepum-pl' 'deepum-plus'
offers 'farfault sim --systems demand,specforest-p' 'demand,specforest-plus'
offers 'farfault help tra' 'train'
offers 'farfault list progr' 'programs'
offers 'farfault list policies random-2' 'random-2m'
offers 'farfault repro uvms' 'uvmsmart'
offers 'farfault replay some.t' 'some.trace'
END
timeout 60 zsh -f "$folder/drive.zsh"
