/* The block types iq1, iq2 and iq3: indices into a book of groups of 8 or 4 numbers, beside signs and
 * scales. A book's groups are sorted, so a map of bits keeps it: one for each of the 3^8 or 8^4 groups
 * there could be. Unpacks to codes like kernels/blocks.inc, for every tier alike: cpu/tiers.c calls
 * oxi_fill_iq. */

#ifdef OX_NO_IQ
static void oxi_fill_iq(oxi_kernels *k) {
    (void)k;
}
#else

/* ---- the books: iq2xxs_grid, iq2xs_grid ... of ggml-common.h ------------------------------------------- */

static const uint32_t oxi_book_iq2_xxs[] = {
    0x55141555, 0x41414410, 0x44140400, 0x00001000, 0x00400400, 0x00400014, 0x04000000, 0x10500000,
    0x00114140, 0x40041401, 0x00400450, 0x05000010, 0x50000010, 0x00010000, 0x00004000, 0x40041441,
    0x00001414, 0x04000004, 0x00040000, 0x00000000, 0x00100400, 0x00000000, 0x14000000, 0x00101004,
    0x11040040, 0x10010400, 0x00404000, 0x00000001, 0x04010000, 0x00000000, 0x40041000, 0x00004004,
    0x00000004, 0x00001000, 0x00001000, 0x10004000, 0x00000000, 0x00000000, 0x04000105, 0x00400000,
    0x00110000, 0x00000000, 0x01000000, 0x00000000, 0x00000040, 0x04140000, 0x00010000, 0x00000501,
    0x10000000, 0x00000010, 0x00500000, 0x00000000, 0x00000000, 0x00004140, 0x00004001, 0x00400000,
    0x00040000, 0x00000040, 0x00000000, 0x00000000, 0x40000040, 0x00000400, 0x04000000, 0x00000000,
    0x00000000, 0x00000000, 0x01000000, 0x00000000, 0x44105000, 0x01101041, 0x10000414, 0x00004000,
    0x00440400, 0x00404000, 0x00404000, 0x40000001, 0x00010010, 0x00100000, 0x04000010, 0x00000010,
    0x00000000, 0x00000001, 0x00000000, 0x04140000, 0x00011000, 0x00000000, 0x00000004, 0x04011000,
    0x00000000, 0x00040000, 0x00040000, 0x00504410, 0x04000000, 0x01000001, 0x00040000, 0x00000000,
    0x00000001, 0x00000000, 0x00000040, 0x00000000, 0x01400000, 0x00010000, 0x00000000, 0x04000000,
    0x00000000, 0x00000001, 0x04100400, 0x04000000, 0x00000000, 0x00400000, 0x00000000, 0x00040000,
    0x00000000, 0x00000000, 0x01000041, 0x00010000, 0x00004000, 0x00400000, 0x00000000, 0x00004000,
    0x00001000, 0x00110000, 0x00000000, 0x00000000, 0x00001400, 0x04000000, 0x00000000, 0x00000000,
    0x00000000, 0x00000000, 0x00000001, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000,
    0x41400000, 0x00040000, 0x00004000, 0x00400400, 0x00000004, 0x00000000, 0x00000004, 0x00000000,
    0x00441400, 0x00400010, 0x04000000, 0x04000000, 0x10000000, 0x00040000, 0x01000040, 0x40000000,
    0x00000000, 0x00000000, 0x00010000, 0x00000000, 0x00000000, 0x00000100, 0x00000000, 0x01040000,
    0x00000410, 0x01000000, 0x00004000, 0x00400000, 0x00000000, 0x00010000, 0x00000000, 0x00400004,
    0x00000001, 0x00000000, 0x01000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000,
    0x00001000, 0x01000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000400, 0x00001000,
    0x00000004, 0x00000001, 0x00000000, 0x00000400, 0x00000000, 0x00000000, 0x00000400, 0x00000000,
    0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00040000, 0x00000000,
    0x00000004, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000,
};
static const uint32_t oxi_book_iq2_xs[] = {
    0x51555555, 0x15414555, 0x55540145, 0x41455055, 0x00010510, 0x40105154, 0x01000441, 0x55500001,
    0x15154145, 0x00041401, 0x00414550, 0x04040105, 0x41400000, 0x00051000, 0x00004000, 0x11055540,
    0x10010414, 0x05404000, 0x00040001, 0x00104000, 0x04000100, 0x00000001, 0x54011000, 0x45505155,
    0x01054041, 0x10515400, 0x00004140, 0x50005001, 0x00400011, 0x00000100, 0x41455000, 0x10014500,
    0x40000004, 0x01000041, 0x00000000, 0x04004000, 0x00010000, 0x00000000, 0x04000505, 0x04000040,
    0x00110000, 0x00000000, 0x00000004, 0x00000000, 0x00000040, 0x55550000, 0x00414010, 0x04000100,
    0x40001050, 0x00100010, 0x00100000, 0x00000100, 0x00000400, 0x40004144, 0x00000001, 0x00400000,
    0x10040000, 0x10000000, 0x01000100, 0x00000000, 0x41100000, 0x00000401, 0x00100001, 0x00000004,
    0x10000000, 0x00000100, 0x00001001, 0x01440000, 0x45555000, 0x11055541, 0x50000414, 0x05004145,
    0x00440001, 0x01414040, 0x00000140, 0x40000000, 0x14014515, 0x00100004, 0x01050001, 0x00000410,
    0x00400000, 0x40000101, 0x00000010, 0x04140000, 0x01011000, 0x00000001, 0x00001004, 0x00400041,
    0x00400000, 0x00000000, 0x00000000, 0x10414550, 0x04000105, 0x41400000, 0x00050004, 0x00000000,
    0x00000040, 0x00000010, 0x05400000, 0x00040401, 0x00004010, 0x00004101, 0x40000000, 0x00000010,
    0x00001000, 0x00001000, 0x00400404, 0x00004040, 0x00010000, 0x01401000, 0x00000000, 0x00000000,
    0x00000000, 0x40000040, 0x01000041, 0x01001010, 0x00005000, 0x00000000, 0x00000000, 0x00100000,
    0x00000004, 0x40010001, 0x00000000, 0x00000000, 0x10000400, 0x00000001, 0x00001000, 0x00000000,
    0x00000000, 0x00000010, 0x01000000, 0x00000000, 0x00000400, 0x00000000, 0x00000400, 0x00101000,
    0x15400000, 0x04150105, 0x00005000, 0x00011550, 0x00041004, 0x01000000, 0x00000400, 0x00014000,
    0x00541441, 0x00400010, 0x04000040, 0x01000000, 0x00000000, 0x04000040, 0x00000000, 0x10000001,
    0x00040004, 0x00140100, 0x00040400, 0x00000000, 0x00000000, 0x00040000, 0x04100000, 0x01051004,
    0x01000400, 0x00000100, 0x00100001, 0x00010000, 0x00000000, 0x04000000, 0x00004000, 0x00000044,
    0x00001041, 0x00000000, 0x00001000, 0x00140000, 0x00000000, 0x00000001, 0x00000000, 0x04000000,
    0x00000000, 0x00000004, 0x00000100, 0x00000000, 0x00000010, 0x00000010, 0x04014500, 0x00000004,
    0x00010000, 0x40000000, 0x00000010, 0x00011440, 0x00000010, 0x00040001, 0x00400000, 0x40000000,
    0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00004000, 0x00400004, 0x00000045, 0x10400000,
    0x00000004, 0x05000000, 0x00000000, 0x00000500, 0x00010000, 0x00000001,
};
static const uint32_t oxi_book_iq2_s[] = {
    0x51555555, 0x15554555, 0x55551105, 0x55455051, 0x14150514, 0x50105154, 0x11000455, 0x55501011,
    0x55555545, 0x51455415, 0x14555550, 0x54145555, 0x55401051, 0x14510004, 0x00105004, 0x11551540,
    0x10515555, 0x05400101, 0x51440455, 0x00404010, 0x10140100, 0x00001005, 0x54004000, 0x45515155,
    0x51151555, 0x55555414, 0x05155545, 0x50001455, 0x04414114, 0x04140005, 0x55455000, 0x14555514,
    0x40105154, 0x55051555, 0x10500414, 0x05144000, 0x00041401, 0x40000010, 0x54045155, 0x01401051,
    0x14550000, 0x00105004, 0x04000010, 0x10000410, 0x00000400, 0x51540000, 0x05415115, 0x00110104,
    0x40415054, 0x14010505, 0x10100004, 0x01045100, 0x00050000, 0x05145544, 0x50041455, 0x14400010,
    0x04140105, 0x00001100, 0x00010500, 0x00040004, 0x11000000, 0x10500014, 0x00400000, 0x00041500,
    0x00000000, 0x00001000, 0x00004004, 0x01400400, 0x55555000, 0x15555545, 0x50514414, 0x55055545,
    0x51541455, 0x15414010, 0x04145104, 0x40000050, 0x54555555, 0x45505155, 0x55550041, 0x10515414,
    0x00004150, 0x50041455, 0x00400010, 0x55141000, 0x41455051, 0x00010400, 0x40105154, 0x01000041,
    0x10500040, 0x00004000, 0x00000000, 0x15554550, 0x54145555, 0x55400051, 0x14550515, 0x00105004,
    0x01051440, 0x14000414, 0x55000000, 0x51541455, 0x00414010, 0x04145500, 0x40001050, 0x14000000,
    0x00110004, 0x00000000, 0x10515400, 0x00404140, 0x50000001, 0x00400010, 0x00000000, 0x10001000,
    0x00000000, 0x44000040, 0x51051545, 0x10400414, 0x05154000, 0x00041401, 0x00100010, 0x04000104,
    0x00000100, 0x14510100, 0x00105004, 0x00000040, 0x10000414, 0x00100010, 0x00040004, 0x00000000,
    0x00100000, 0x00001050, 0x00100000, 0x00100100, 0x00004000, 0x00000000, 0x00000000, 0x00000004,
    0x15404000, 0x54141145, 0x01411011, 0x14554500, 0x40005154, 0x11400041, 0x10500015, 0x00000000,
    0x11555400, 0x00414550, 0x54000105, 0x41401051, 0x01010000, 0x00105000, 0x00000050, 0x10000000,
    0x05000141, 0x00000001, 0x00014040, 0x40000100, 0x00000000, 0x00040000, 0x00400500, 0x55450100,
    0x10515410, 0x00004140, 0x50001411, 0x00001010, 0x04140000, 0x00001000, 0x40000000, 0x40105154,
    0x01000041, 0x10500040, 0x00004000, 0x11000000, 0x00000010, 0x00100010, 0x41400000, 0x00011000,
    0x00000000, 0x00000050, 0x00001100, 0x00000000, 0x00000000, 0x00400000, 0x10111100, 0x00001054,
    0x01040000, 0x00100000, 0x00000400, 0x40041000, 0x00000014, 0x51000144, 0x00400010, 0x01000000,
    0x10001040, 0x00000000, 0x00000000, 0x00000000, 0x00000004, 0x00400000, 0x00000040, 0x01000000,
    0x00000000, 0x04000040, 0x01400000, 0x00000114, 0x00001000, 0x00000001,
};
static const uint32_t oxi_book_iq1[] = {
    0x85142555, 0x514202a0, 0xa8314508, 0xa28a2086, 0x202a081a, 0x14508514, 0x45442082, 0xa0051525,
    0x88208202, 0x82080018, 0xa02a03a0, 0x0aaabb88, 0x000baa90, 0xaa0a0022, 0x08a0828c, 0x45085140,
    0x50808821, 0x08514214, 0x9808308a, 0x2a8008a0, 0x14214508, 0x42482085, 0x01450855, 0x20a0c22c,
    0x2a00268a, 0xa2aaa824, 0x08afe208, 0x00282808, 0x284202a0, 0xa82028aa, 0x9b0a2080, 0xa8bab908,
    0x89aeca20, 0x3aaaaea2, 0xbaeaeb7c, 0xb80e82bb, 0xd3caba22, 0x2202920e, 0xa8202200, 0x820aba8a,
    0x2a000802, 0x3ba2e04a, 0xa22b2022, 0x81408100, 0x08288aaa, 0x85140122, 0x20821550, 0x54214509,
    0x0208a085, 0x203aa823, 0x54208284, 0xa2085142, 0x50950820, 0x082a0214, 0x8082a8b8, 0x200248a0,
    0x68a28208, 0xab2802a2, 0x2085082a, 0x08308208, 0x45004045, 0xa0851421, 0x00514200, 0x82290145,
    0x2a828a00, 0x1430a108, 0x82145005, 0x21450828, 0x02208514, 0x2aaa2002, 0xb1122000, 0xa828ae8a,
    0xa8aaa1ba, 0x0a820070, 0x22280208, 0x82008402, 0xa0804800, 0xaa2ab0ea, 0xba8b20c2, 0xa7daea22,
    0xa86e8b8b, 0xaa2ab092, 0x448a8b72, 0x48202a0c, 0x8a284084, 0x20aa082a, 0x22a2ccc8, 0xa09aafa2,
    0x0002a8e8, 0xa82a0002, 0x80200088, 0xa2a28ba0, 0x80a0ba28, 0xba0a3282, 0xfebab8be, 0x2ba0a2eb,
    0x0a8a08a2, 0x00a2ea28, 0x0c0232a1, 0xdeeaa4fa, 0x2ea82bef, 0xeb7ebe8d, 0xbf7ff7fa, 0xdeba7de6,
    0xff27fb69, 0x12fa26bf, 0x228ae1e9, 0x0ebeaa10, 0xb208aa84, 0xae820ba8, 0xe924baff, 0x62048083,
    0xa8f2682c, 0x002ba40a, 0x08082a02, 0x0012aae2, 0x0a2a8202, 0x82c920a6, 0x28829089, 0x8c00a200,
    0x82001380, 0x6c000808, 0xbbaaaa8a, 0x8abea602, 0x8002caa0, 0xd02e976b, 0x8210e9b2, 0xdeaa2e10,
    0xa5d11528, 0x820a0004, 0x20828a00, 0x20a10108, 0xba39aa82, 0xa0843222, 0x00188009, 0x0262a28a,
    0x51441481, 0xac214500, 0x42145082, 0x20aa0851, 0x0a87aa28, 0x45082a12, 0xa0051421, 0x08514208,
    0x02200145, 0x22a240a0, 0x08008800, 0x8a6a08a2, 0xaaaab86e, 0x0a200080, 0x22c8e282, 0x50440821,
    0x09514214, 0x8515208a, 0x0a861450, 0x2a2aaa08, 0x420a0080, 0x21450851, 0x145000a8, 0xe2085142,
    0x0a828820, 0x082a8218, 0x8aaaa2aa, 0x0a028bb0, 0x2820aa2a, 0x0aaa8082, 0x00280828, 0x220288a9,
    0x280bbea0, 0xba8a08b8, 0xffaeb24b, 0xaef8a4ba, 0x285220aa, 0x30a0b668, 0x020a80e6, 0x6a220828,
    0x0a208062, 0x2baaaa02, 0xa9a2eaaa, 0x0808a2a0, 0x8aa02010, 0x0e820022, 0x14214500, 0x400aa085,
    0x21450851, 0x4a0006a9, 0xa50802aa, 0x440d1000, 0x08288214, 0x05142145, 0x82820800, 0x0020f2ac,
    0x0aaa0000, 0x20ba0a28, 0x0002a2ea, 0x28094882, 0x110014e9, 0x0051454b, 0x02a80145, 0x51421450,
    0x08248808, 0x400a2888, 0x01450008, 0x02a00514, 0x45085140, 0x00000001,
};
static const uint32_t oxi_book_iq3_xxs[] = {
    0x02058a15, 0x28000004, 0x0522050a, 0x01001002, 0x8a050215, 0x20008200, 0x00200582, 0x01000000,
    0x80000800, 0x28008010, 0x04000082, 0x00000400, 0x20000000, 0x00100000, 0x00005100, 0x00020008,
    0x150a050a, 0x00000180, 0x00050205, 0x00000000, 0x0102050a, 0x04000000, 0x02010005, 0x00400040,
    0x00000022, 0x00000100, 0x00110000, 0x02000040, 0x00000020, 0x00000000, 0x00040000, 0x00000001,
    0x02450a05, 0x00000004, 0x0102052a, 0x01880000, 0x80058205, 0x00002001, 0x00001102, 0x11000000,
    0x20000000, 0x00000800, 0x00800008, 0x10000002, 0x00000000, 0x00000000, 0x0000400a, 0x00000020,
    0x000a0502, 0x04200100, 0x02010005, 0x00000050, 0x0020010a, 0x04000400, 0x08000200, 0x00000000,
    0x01000000, 0x04000080, 0x00040041, 0x00002000, 0x40001000, 0x00080000, 0x08000000, 0x00010000,
    0xa0008010, 0x00008800, 0x00000000, 0x10000000, 0x80010000, 0x00410001, 0x00000080, 0x00000020,
    0x00000010, 0x00100200, 0x00200000, 0x01000008, 0x00000000, 0x00000000, 0x01000520, 0x00000000,
    0x00000400, 0x01000002, 0x00400041, 0x00002000, 0x04001000, 0x04000000, 0x00000004, 0x00000800,
    0x00880100, 0x04000000, 0x02000004, 0x00000000, 0x00000000, 0x00000100, 0x00100000, 0x00000004,
    0x00100000, 0x00100050, 0x00020000, 0x00020000, 0x00008000, 0x00100000, 0x41000000, 0x00000000,
    0x00000000, 0x00000010, 0x00000020, 0x00000400, 0x08000000, 0x00000000, 0x00020008, 0x00000000,
    0x040001a8, 0x00000400, 0x00400000, 0x00000001, 0x00000400, 0x00000420, 0x08002001, 0x00010000,
    0x00020000, 0x00000002, 0x00100005, 0x00000000, 0x01000000, 0x00000000, 0x00000000, 0x00000000,
};
static const uint32_t oxi_book_iq3_s[] = {
    0x082357a7, 0x92050aa5, 0x22892317, 0x04220010, 0x112249a3, 0x09000aa4, 0x4a052208, 0x22800510,
    0x04128801, 0x01000209, 0x08450014, 0x084000a2, 0x02000a40, 0x02000400, 0x08450015, 0x00001100,
    0x5205ab17, 0x04025000, 0x0902114b, 0x41000502, 0x0411a401, 0x04012009, 0x11820992, 0x01040002,
    0x0a001428, 0x00001144, 0x05020902, 0x00000200, 0x00910000, 0x00000050, 0x2002050a, 0x01040002,
    0x058a55ab, 0x2980052a, 0x12248905, 0x00000204, 0x810a0092, 0x12008802, 0x0a140225, 0x00400104,
    0x24090082, 0x24000002, 0x80040210, 0x01000801, 0x00020085, 0x00022000, 0x01400220, 0x00000108,
    0x2a04aa04, 0x02080294, 0x000a102a, 0x44010001, 0x14010401, 0x00000100, 0x018a1102, 0x0800208a,
    0x02044208, 0x00110400, 0x04200502, 0x08004010, 0x00004000, 0x00000002, 0x2005000a, 0x00000000,
    0x04910411, 0x01000102, 0x21040a84, 0x00002208, 0x0802210a, 0x01048001, 0x22050a10, 0x00000000,
    0x80100005, 0x02000001, 0x000200a0, 0x00040000, 0x10000800, 0x00010000, 0x01002100, 0x00000208,
    0x00041104, 0x10400491, 0x0402042a, 0x04000000, 0x41080201, 0x00000800, 0x00800184, 0x08200210,
    0x04010012, 0x00000040, 0x00400400, 0x00000a00, 0x00000000, 0x00000004, 0x00040014, 0x00000000,
    0x0a002a00, 0x00010000, 0x00810001, 0x00100000, 0x10000400, 0x01042004, 0x00021001, 0x00000001,
    0x00200000, 0x00040008, 0x10000009, 0x00010000, 0x00000020, 0x00000001, 0x00000a00, 0x00000000,
    0x40050091, 0x00041001, 0x00100204, 0x00000028, 0x01024112, 0x00000200, 0x24000004, 0x00000800,
    0x00010822, 0x00000100, 0x00040000, 0x00000004, 0x02000004, 0x00000000, 0x00000001, 0x00000000,
};

/* Bit i of a book: whether the group is in it whose numbers have the digits of i as their levels, the lowest
 * digit first. The levels -1, 0, 1 of iq1 are here as 8 level + 9: its codes are 8 level +- 1. */
typedef struct oxi_book {
    const uint32_t *bits;
    int numbers, levels, first; /* of a group; its first group among all books' */
    uint8_t value[8];           /* of a level */
} oxi_book;

static const oxi_book oxi_books[] = {
    {oxi_book_iq2_xxs, 8, 3, OXI_BOOK_IQ2_XXS, {8, 25, 43, 0, 0, 0, 0, 0}},
    {oxi_book_iq2_xs, 8, 3, OXI_BOOK_IQ2_XS, {8, 25, 43, 0, 0, 0, 0, 0}},
    {oxi_book_iq2_s, 8, 3, OXI_BOOK_IQ2_S, {8, 25, 43, 0, 0, 0, 0, 0}},
    {oxi_book_iq1, 8, 3, OXI_BOOK_IQ1, {1, 9, 17, 0, 0, 0, 0, 0}},
    {oxi_book_iq3_xxs, 4, 8, OXI_BOOK_IQ3_XXS, {4, 12, 20, 28, 36, 44, 52, 62}},
    {oxi_book_iq3_s, 4, 8, OXI_BOOK_IQ3_S, {1, 3, 5, 7, 9, 11, 13, 15}},
};

static void oxi_open_book(const oxi_book *book, uint64_t *group) {
    int groups = book->numbers == 8 ? 6561 : 4096; /* levels ^ numbers */
    for (int i = 0; i < groups; i++) {
        if (!(book->bits[i / 32] >> i % 32 & 1)) continue;
        uint64_t word = 0;
        for (int j = 0, digits = i; j < book->numbers; j++, digits /= book->levels)
            word |= (uint64_t)book->value[digits % book->levels] << 8 * j;
        *group++ = word;
    }
}

static oxi_lock oxi_groups_lock; /* while they are made */

/* All groups, a number in each byte, the first one lowest. Made when first asked for. */
static const uint64_t *oxi_groups(void) {
    static uint64_t groups[OXI_BOOK_GROUPS];
    static int64_t made;
    if (oxi_atomic_load(&made)) return groups;
    oxi_lock_take(&oxi_groups_lock);
    if (!oxi_atomic_load(&made)) {
        for (size_t i = 0; i < sizeof oxi_books / sizeof *oxi_books; i++)
            oxi_open_book(&oxi_books[i], groups + oxi_books[i].first);
        oxi_atomic_store(&made, 1);
    }
    oxi_lock_give(&oxi_groups_lock);
    return groups;
}

/* ---- eight numbers in a word --------------------------------------------------------------------------- */

#define OXI_EIGHT_BYTES(byte) ((uint64_t)(byte) * UINT64_C(0x0101010101010101))

/* Numbers of 1 to 127, negative where their bit of `signs` is set: no byte carries into the next. */
static uint64_t oxi_with_signs(uint64_t word, unsigned signs) {
    uint64_t bits = OXI_EIGHT_BYTES(signs) & UINT64_C(0x8040201008040201), low = OXI_EIGHT_BYTES(0x7f);
    uint64_t one = (((bits & low) + low) | bits) >> 7 & OXI_EIGHT_BYTES(1);
    return (word ^ one * 255) + one;
}

/* Seven signs and an eighth that makes the number of minus signs even: ksigns_iq2xs of ggml-common.h. */
static uint64_t oxi_with_even_signs(uint64_t word, unsigned seven) {
    unsigned odd = seven ^ seven >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return oxi_with_signs(word, seven | (odd & 1) << 7);
}

/* iq1: numbers 8 level + 9 as codes 8 level + 1, or - 1. Of a byte less than 128, x ^ 128 is x - 128. */
static uint64_t oxi_with_delta(uint64_t word, bool minus) {
    return (word + OXI_EIGHT_BYTES(minus ? 118 : 120)) ^ OXI_EIGHT_BYTES(128);
}

/* ---- one block of 256 ---------------------------------------------------------------------------------- */

static uint32_t oxi_le16(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8;
}
static uint32_t oxi_le32(const uint8_t *p) {
    return oxi_le16(p) | oxi_le16(p + 2) << 16;
}
static float oxi_half_at(const uint8_t *p) {
    return oxi_f16_to_f32((uint16_t)oxi_le16(p));
}

/* Scales are products of few bits: exact, in any order. */
static void oxi_set_scales(oxi_codes c, int first, int groups, float scale) {
    for (int i = first; i < first + groups; i++) {
        c.scale[i] = scale;
        c.least[i] = 0;
    }
}

static void oxi_unpack_iq2_xxs(const uint8_t *p, oxi_codes c) {
    const uint64_t *book = oxi_groups() + OXI_BOOK_IQ2_XXS;
    float d = oxi_half_at(p);
    for (int i = 0; i < 8; i++) {
        const uint8_t *q = p + 2 + 8 * i;
        uint32_t signs = oxi_le32(q + 4);
        oxi_set_scales(c, 2 * i, 2, d * (0.5f + (float)(signs >> 28)) * 0.25f);
        for (int j = 0; j < 4; j++)
            oxi_store_eight(c.code + 32 * i + 8 * j, oxi_with_even_signs(book[q[j]], signs >> 7 * j & 127));
    }
}

static void oxi_unpack_iq2_xs(const uint8_t *p, oxi_codes c) {
    const uint64_t *book = oxi_groups() + OXI_BOOK_IQ2_XS;
    float d = oxi_half_at(p);
    for (int i = 0; i < 16; i++)
        oxi_set_scales(c, i, 1, d * (0.5f + (float)(p[66 + i / 2] >> i % 2 * 4 & 15)) * 0.25f);
    for (int i = 0; i < 32; i++) {
        uint32_t q = oxi_le16(p + 2 + 2 * i);
        oxi_store_eight(c.code + 8 * i, oxi_with_even_signs(book[q & 511], q >> 9));
    }
}

static void oxi_unpack_iq2_s(const uint8_t *p, oxi_codes c) {
    const uint64_t *book = oxi_groups() + OXI_BOOK_IQ2_S;
    float d = oxi_half_at(p);
    for (int i = 0; i < 16; i++)
        oxi_set_scales(c, i, 1, d * (0.5f + (float)(p[74 + i / 2] >> i % 2 * 4 & 15)) * 0.25f);
    for (int i = 0; i < 32; i++) {
        int high = p[66 + i / 4] >> i % 4 * 2 & 3;
        oxi_store_eight(c.code + 8 * i, oxi_with_signs(book[p[2 + i] | high << 8], p[34 + i]));
    }
}

static void oxi_unpack_iq3_xxs(const uint8_t *p, oxi_codes c) {
    const uint64_t *book = oxi_groups() + OXI_BOOK_IQ3_XXS;
    float d = oxi_half_at(p);
    for (int i = 0; i < 8; i++) {
        const uint8_t *q = p + 2 + 8 * i;
        uint32_t signs = oxi_le32(p + 66 + 4 * i);
        oxi_set_scales(c, 2 * i, 2, d * (0.5f + (float)(signs >> 28)) * 0.5f);
        for (int j = 0; j < 4; j++) {
            uint64_t word = book[q[2 * j]] | book[q[2 * j + 1]] << 32;
            oxi_store_eight(c.code + 32 * i + 8 * j, oxi_with_even_signs(word, signs >> 7 * j & 127));
        }
    }
}

static void oxi_unpack_iq3_s(const uint8_t *p, oxi_codes c) {
    const uint64_t *book = oxi_groups() + OXI_BOOK_IQ3_S;
    float d = oxi_half_at(p);
    for (int i = 0; i < 8; i++)
        oxi_set_scales(c, 2 * i, 2, d * (float)(1 + 2 * (p[106 + i / 2] >> i % 2 * 4 & 15)));
    for (int i = 0; i < 32; i++) {
        const uint8_t *q = p + 2 + 2 * i;
        int high = p[66 + i / 4] >> i % 4 * 2;
        uint64_t word = book[q[0] | (high & 1) << 8] | book[q[1] | (high & 2) << 7] << 32;
        oxi_store_eight(c.code + 8 * i, oxi_with_signs(word, p[74 + i]));
    }
}

static void oxi_unpack_iq1_s(const uint8_t *p, oxi_codes c) {
    const uint64_t *book = oxi_groups() + OXI_BOOK_IQ1;
    float d = oxi_half_at(p);
    for (int i = 0; i < 8; i++) {
        uint32_t high = oxi_le16(p + 34 + 2 * i);
        oxi_set_scales(c, 2 * i, 2, d * (float)(2 * (high >> 12 & 7) + 1) * 0.125f);
        for (int j = 0; j < 4; j++) {
            uint64_t word = book[p[2 + 4 * i + j] | (high >> 3 * j & 7) << 8];
            oxi_store_eight(c.code + 32 * i + 8 * j, oxi_with_delta(word, high >> 15));
        }
    }
}

/* The high bits of four words of scales are the block's f16 scale. */
static void oxi_unpack_iq1_m(const uint8_t *p, oxi_codes c) {
    const uint64_t *book = oxi_groups() + OXI_BOOK_IQ1;
    uint32_t half = 0;
    for (int i = 0; i < 4; i++) half |= oxi_le16(p + 48 + 2 * i) >> 12 << 4 * i;
    float d = oxi_f16_to_f32((uint16_t)half);
    for (int i = 0; i < 16; i++) {
        uint32_t scale = oxi_le16(p + 48 + i / 4 * 2) >> i % 4 * 3 & 7;
        oxi_set_scales(c, i, 1, d * (float)(2 * scale + 1) * 0.125f);
    }
    for (int i = 0; i < 32; i++) {
        int high = p[32 + i / 2] >> i % 2 * 4;
        oxi_store_eight(c.code + 8 * i, oxi_with_delta(book[p[i] | (high & 7) << 8], high & 8));
    }
}

/* ---- rows of blocks ------------------------------------------------------------------------------------ */

#define OXI_EACH_IQ_TYPE(X) \
    X(iq1_s, OX_IQ1_S) X(iq1_m, OX_IQ1_M) X(iq2_xxs, OX_IQ2_XXS) X(iq2_xs, OX_IQ2_XS) X(iq2_s, OX_IQ2_S) \
    X(iq3_xxs, OX_IQ3_XXS) X(iq3_s, OX_IQ3_S)

#define OXI_X(name, dtype) \
    static void oxi_unpack_blocks_##name(int64_t n, const void *blocks, oxi_codes c) { \
        const uint8_t *p = (const uint8_t *)blocks; \
        for (; n > 0; n -= 256, p += OXI_BYTES_##dtype) { \
            oxi_unpack_##name(p, c); \
            c.code += 256; \
            c.scale += 16; \
            c.least += 16; \
        } \
    }
OXI_EACH_IQ_TYPE(OXI_X)
#undef OXI_X

static void oxi_fill_iq(oxi_kernels *k) {
#define OXI_X(name, dtype) k->unpack[dtype] = oxi_unpack_blocks_##name;
    OXI_EACH_IQ_TYPE(OXI_X)
#undef OXI_X
}

#undef OXI_EACH_IQ_TYPE
#undef OXI_EIGHT_BYTES
#endif
