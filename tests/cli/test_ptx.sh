#!/bin/sh
# farfault ptx: the device code in files of every kind, and every way in which it can fail.
. "$(dirname "$0")/common.sh"
files=$source/tests/fuzz/corpus/fatbin

ptx() {
    printf '.version 7.4\n.target sm_70\n.address_size 64\n'
    cat
}

# ---- what it shows of kernels

ptx >kernels.ptx <<'END'
.func (.param .b32 r) helper(.param .b32 a) { wgmma.fence.sync.aligned; ret; }
.visible .entry good(.param .u64 out, .param .u32 n)
.maxntid 256, 1, 1
{
    .reg .b32 %r<5>;
    .shared .align 4 .b8 tile[2048];
    ret;
}
.visible .entry tensor(.param .u64 out)
{
    wgmma.fence.sync.aligned;
    ret;
}
.visible .entry unknown(.param .u64 out) { mov.u32 %nowhere, 1; }
.visible .entry tensor2() { wgmma.fence.sync.aligned; }
END
status 0 ptx kernels.ptx
cat >expected <<'END'
image 1: PTX 7.4 for sm_70, 471 B
  parameters  bytes  registers  threads  shared  C           kernel
           2     12          5      256   2 KiB  translated  good
           1      8          0        -       -  refused     tensor
           1      8          0        -       -  refused     unknown
           0      0          0        -       -  refused     tensor2
  function helper: line 4: wgmma.fence.sync.aligned: .fence is not known
  tensor: line 14: wgmma.fence.sync.aligned: .fence is not known
  unknown: line 17: mov.u32 %nowhere, 1: %nowhere is not declared
  tensor2: line 18: wgmma.fence.sync.aligned: .fence is not known
kernels  refused because                                such as
      2  wgmma.fence.sync.aligned: .fence is not known  image 1, line 14: tensor
      1  mov.u32: %nowhere is not declared              image 1, line 17: unknown
4 kernels, 1 translated, 3 refused
END
diff expected out >different || fail "of kernels: $(cat different)"

status 0 ptx kernels.ptx --json
mv out kernels.json
json kernels.json ptx command
json kernels.json true good
json kernels.json 1 images 0 number
json kernels.json 70 images 0 arch
json kernels.json 7.4 images 0 version
json kernels.json plain images 0 compression
json kernels.json good images 0 kernels 0 name
json kernels.json good images 0 kernels 0 symbol
json kernels.json 12 images 0 kernels 0 parameter_bytes
json kernels.json 256 images 0 kernels 0 max_threads
json kernels.json 2048 images 0 kernels 0 shared
json kernels.json null images 0 kernels 0 refused
json kernels.json null images 0 kernels 1 max_threads
json kernels.json 'line 14: wgmma.fence.sync.aligned: .fence is not known' images 0 kernels 1 \
    refused
json kernels.json helper images 0 functions 0 name
json kernels.json 1 translated
json kernels.json 3 refused
json kernels.json 2 reasons 0 kernels
status 0 ptx kernels.ptx --json=same.json
has out '4 kernels, 1 translated, 3 refused'
cmp -s kernels.json same.json || fail "--json and --json=FILE differ"

ptx >names.ptx <<'END'
.visible .entry _Z5scaleIfEvPT_S0_(.param .u64 values, .param .f32 by) { ret; }
END
status 0 ptx names.ptx
has out 'translated  scale<float>(float*, float)'
status 0 ptx names.ptx --json
mv out names.json
json names.json 'scale<float>(float*, float)' images 0 kernels 0 name
json names.json _Z5scaleIfEvPT_S0_ images 0 kernels 0 symbol

# ---- images

status 0 ptx "$files/plain" --json
mv out plain.json
json plain.json ptx images 0 kind
json plain.json cubin images 1 kind
json plain.json null images 1 version
json plain.json 40 images 1 kernels 0 registers
json plain.json 1 kernels
status 0 ptx "$files/zstd"
has out 'image 1: PTX 8.0 for sm_80, zstd, '
status 0 ptx "$files/archive"
has out '1 kernel, 1 translated, 0 refused'
for arch in 75 sm_75 compute_75 sm_75a; do
    status 0 ptx "$files/host" --arch $arch
    has out 'image 2: PTX'
    has out 'image 3: cubin'
    ! grep 'image 1' out || fail "--arch $arch: $(cat out)"
done
status 0 ptx "$files/host" --image 2
has out '1 kernel, 1 translated, 0 refused'
mistake 1 "farfault ptx: $files/host: no such image; it has 3, for sm_70, sm_75" ptx \
    "$files/host" --image 4
mistake 1 "farfault ptx: $files/host: no such image; it has 3, for sm_70, sm_75" ptx \
    "$files/host" --arch 90
for arch in '' 0 sm_ sm_75A sm-75 75ab 123456 gfx90; do
    mistake 2 'farfault ptx: --arch*: must be an architecture, such as sm_75' ptx \
        "$files/host" "--arch=$arch"
done
mistake 2 'farfault ptx: --image*' ptx "$files/host" --image none

# ---- PTX and C written to files

status 0 ptx "$files/host" --image 2 --extract extracted.ptx --c extracted.c
has extracted.ptx '.visible .entry k('
has extracted.c '"k"'
status 0 ptx "$files/host" --image 1 --extract -
cmp -s out extracted.ptx || fail "--extract - is another text"
mistake 2 "farfault ptx: $files/host: 2 images of PTX; choose one: --image NUMBER" ptx \
    "$files/host" --extract -
mistake 2 "farfault ptx: $files/host: 0 images of PTX are wanted: nothing to write" ptx \
    "$files/host" --image 3 --c -
mistake 1 "farfault ptx: cannot write none/x: No such file or directory" ptx kernels.ptx \
    --c none/x
if [ -e /dev/full ]; then
    says 1 'farfault ptx: cannot write to standard output: No space left on device' \
        sh -c "'$farfault' ptx kernels.ptx --c - >/dev/full"
fi

# ---- what is no such file, or damaged

printf 'int main(void) { return 0; }\n' >program.c
: >empty
printf '\177ELF' >elf
mkdir folder
mkfifo pipe
head -c 100 "$files/plain" >cut
cp "$farfault" host
no='neither PTX nor a cubin, a fat binary, an ELF file or an archive'
mistake 2 'farfault ptx: give one file: farfault ptx FILE' ptx
mistake 2 'farfault ptx: give one file: farfault ptx FILE' ptx kernels.ptx program.c
mistake 1 'farfault ptx: nowhere: No such file or directory' ptx nowhere
mistake 1 'farfault ptx: folder: not a regular file' ptx folder
mistake 1 'farfault ptx: pipe: not a regular file' ptx pipe
mistake 1 'farfault ptx: /dev/null: not a regular file' ptx /dev/null
mistake 1 "farfault ptx: program.c: $no" ptx program.c
mistake 1 'farfault ptx: empty: empty' ptx empty
mistake 1 'farfault ptx: elf: damaged ELF file: it ends in its header' ptx elf
mistake 1 'farfault ptx: host: an ELF file without device code' ptx host
mistake 1 'farfault ptx: cut: damaged fat binary: it is cut off' ptx cut
cp kernels.ptx unreadable
chmod 0 unreadable
[ "$(id -u)" -eq 0 ] ||
    mistake 1 'farfault ptx: unreadable: Permission denied' ptx unreadable
truncate -s 5G huge
mistake 1 'farfault ptx: huge: larger than 4 GiB' ptx huge
rm huge
status 1 ptx nowhere --json
mv out nowhere.json
json nowhere.json 'nowhere: No such file or directory' reason

# an image that cannot be read, beside one that can
{
    cat kernels.ptx
    echo '.entry cut() {'
} >unclosed.ptx
says 1 'farfault ptx: unclosed.ptx: image 1: line 20: a brace that is not closed' "$farfault" ptx \
    unclosed.ptx
status 1 ptx unclosed.ptx --json
mv out unclosed.json
json unclosed.json false good
json unclosed.json 'unclosed.ptx: image 1: line 20: a brace that is not closed' reason
json unclosed.json 'line 20: a brace that is not closed' images 0 wrong
mistake 1 'farfault ptx: unclosed.ptx: line 20: a brace that is not closed' ptx unclosed.ptx --c -

# names of kernels and texts do not reach a terminal as they are
sed 's/kern/k\o33[m/' "$files/cubin" >escape
status 0 ptx escape
has out 'k?[m'
printf 'x\033[7m;' | ptx >escape.ptx
says 1 'farfault ptx: escape.ptx: image 1: line 4: '"'x' where a directive should be" "$farfault" \
    ptx escape.ptx
# ---- what kernels touch

ptx >extents.ptx <<'END'
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
    .reg .b32 %r<5>; .reg .b64 %d<6>; .reg .f32 %f<5>; .reg .pred %p;
    mov.u32 %r0, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r1, %r0, %r2, %r3;
    ld.param.u32 %r4, [n];
    setp.ge.s32 %p, %r1, %r4;
    @%p bra done;
    ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.f32 %f1, [a];
    mul.wide.s32 %d3, %r1, 4;
    add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4]; ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%d5], %f4;
done:
    ret;
}
.visible .entry rows(.param .u64 matrix, .param .u64 index, .param .u32 rows, .param .u32 columns)
{
    .reg .b32 %r<13>; .reg .b64 %d<7>; .reg .pred %p<3>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r9, %r1, %r2, %r3;
    mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ntid.y; mov.u32 %r6, %tid.y;
    mad.lo.s32 %r10, %r4, %r5, %r6;
    ld.param.u32 %r7, [rows]; ld.param.u32 %r8, [columns];
    setp.ge.s32 %p1, %r10, %r7;
    @%p1 bra done;
    setp.ge.s32 %p2, %r9, %r8;
    @%p2 bra done;
    ld.param.u64 %d1, [matrix]; ld.param.u64 %d2, [index];
    mad.lo.s32 %r11, %r10, %r8, %r9;
    mul.wide.s32 %d3, %r11, 4;
    add.s64 %d4, %d1, %d3;
    st.global.u32 [%d4+8], %r9;
    ld.global.u32 %r12, [%d2];
    mul.wide.u32 %d5, %r12, 4;
    add.s64 %d6, %d1, %d5;
    st.global.u32 [%d6], %r9;
done:
    ret;
}
.visible .entry unguarded(.param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %d<4>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r1, %r1, %r2, %r3;
    ld.param.u64 %d1, [out];
    mul.wide.u32 %d2, %r1, 8;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r1;
    ret;
}
.visible .entry idle() { ret; }
END
status 0 ptx extents.ptx --extents
sed -n '/touches/,/^[^ ]/p' out | grep -v '^[^ ]' >touched || true
cat >expected <<'END'
  saxpy touches:
    reads   of arg1: 0 to 4*arg3, exact
    reads   of arg0: 0 to 4*arg3, exact
    writes  of arg0: 0 to 4*arg3, exact
  rows touches:
    writes  of arg0: 8 to 4*arg2*arg3 + 8, exact
    reads   of arg1: 0 to 4, exact
    writes  of arg0: 0 to 17179869184, bound
  unguarded touches:
    writes  of arg0: 0 to 256*gridDim.x - 4, exact
  idle touches nothing
END
diff expected touched >different || fail "what kernels touch: $(cat different)"
status 0 ptx extents.ptx --extents --json
mv out extents.json
json extents.json true images 0 kernels 0 extents complete
json extents.json 1 images 0 kernels 0 extents accesses 0 argument
json extents.json exact images 0 kernels 0 extents accesses 0 kind
json extents.json '4*arg2*arg3 + 8' images 0 kernels 1 extents accesses 0 high
json extents.json bound images 0 kernels 1 extents accesses 2 kind

finish
