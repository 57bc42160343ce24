
# _farfault_reply WORDS: those that begin with $cur; of a list with commas, its last item.
_farfault_reply() {
    local before=
    [[ $cur == *,* ]] && before=${cur%,*},
    COMPREPLY=($(compgen -P "$before" -W "$1" -- "${cur##*,}"))
}

_farfault_files() {
    compopt -o filenames -o default # the default knows quotes
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

_farfault_complete_value() {
    case $1:$2 in
    *:--system | *:--systems | *:-s) _farfault_reply "$(_farfault_names systems)" ;;
    *:--gpu | *:-g) _farfault_reply "$(_farfault_names gpus)" ;;
    *:--programs) _farfault_reply "$(_farfault_names programs)" ;;
    *)
        local kind
        kind=$(_farfault_value "$1" "$2")
        case $kind in
        FILE* | *FILE | TRACE | SOCKET | PATH | FOLDER | *.json*) _farfault_files ;;
        [a-z0-9]*\|*) _farfault_reply "${kind//|/ }" ;;
        esac
        ;;
    esac
}

# _farfault_complete_words COMMAND FIRST
_farfault_complete_words() {
    case $1 in
    run | record)
        compopt -o default # after the program, its files
        [[ -n $2 ]] || COMPREPLY=($(compgen -c -- "$cur"))
        ;;
    compare) _farfault_reply "$(_farfault_names programs)" ;;
    sim | train) _farfault_reply "$(_farfault_names workloads)" ;;
    predict)
        if [[ -n $2 ]]; then _farfault_reply "$(_farfault_names workloads)"
        else _farfault_files; fi
        ;;
    list) _farfault_reply "$([[ -n $2 ]] && _farfault_names "$2" || _farfault_words list)" ;;
    help) _farfault_reply "$_farfault_commands" ;;
    *)
        local words
        words=$(_farfault_words "$1")
        if [[ -n $words && -z $2 ]]; then _farfault_reply "$words"; else _farfault_files; fi
        ;;
    esac
}

# The first argument of the command before the word that is completed, if it has one already.
_farfault_first() {
    local i word
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        -*) [[ $word == *=* || -z $(_farfault_value "${COMP_WORDS[1]}" "$word") ]] || ((i++)) ;;
        =) ((i++)) ;;
        *) echo "$word" && return ;;
        esac
    done
}

_farfault() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _farfault_reply "$_farfault_commands --help --version"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then # from here on it is the program's command line
            _command_offset $((i + 1)) 2>/dev/null || compopt -o default
            return
        fi
    done
    if [[ $cur == = ]]; then
        cur=
    elif [[ $before == = ]]; then # bash has made --option=value three words
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $before == -* && -n $(_farfault_value "$command" "$before") ]]; then
        _farfault_complete_value "$command" "$before"
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$(_farfault_options "$command")" -- "$cur"))
        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
    else
        _farfault_complete_words "$command" "$(_farfault_first)"
    fi
}
complete -F _farfault farfault
