/* oxtorch_stream.h - 0.1.0 - tensors larger than memory, over oxtorch.h - SPDX-License-Identifier: MIT
 * Generated from src/ by tools/amalgamate.c. Do not edit: edit src/ and run make headers.
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_stream.h"      oxtorch.h lies beside it
 *     cc app.c -lm -lpthread           or, with io_uring: -DOX_USE_LIBURING and -luring
 *
 *     ox_stream_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.ram_bytes = (size_t)1 << 30;                                  1 GiB of RAM for all of it
 *     ox_stream *stream = ox_stream_open(&desc);
 *     ox_file *file = ox_file_open("model.safetensors", ox_stream_device(stream));
 *     ox_tensor *w = ox_file_tensor(file, "weight");                            stays in the file
 *     ox_tensor *y = ox_linear(x, w, NULL);                              x and y in RAM
 *     ...
 *     ox_file_close(file);
 *     ox_device_close(ox_stream_device(stream));
 *
 * HOW IT WORKS
 *     The stream is a device: its memory is files, its compute another device (the CPU, or a GPU). A tensor
 *     on it stays where it lies in a GGUF, safetensors, .npy, .npz or raw file (ox_stream_raw). An
 *     operation is cut into tiles. While one tile is computed the next ones are read, and results are
 *     written, through a ring of buffers. Results have the bits that the operation has in RAM. Small
 *     results are made in RAM, large ones in a spill file that has no name and disappears with the stream,
 *     also when the process is killed. ox_stream_named makes a tensor in a file that stays.
 *
 * MEMORY
 *     ram_bytes is what the library may hold. The ring takes up to a quarter of it; the rest keeps tiles of
 *     read-only files, so that a second pass over a model reads only what did not fit. The order of the
 *     first pass tells what to prefetch, also between operations; on the first pass itself over layers that
 *     are alike, each is prefetched as the one before it was used. With 0, a stream takes half of what the
 *     system, the memory limits of the process's groups (cgroups) and its own (ulimit) leave.
 *
 * THE DISK
 *     Files are read past the system's page cache where the file system allows it, by io_uring or by threads,
 *     which take over where io_uring is forbidden. Tile size and depth follow from the speed of the first
 *     tiles unless they are given. A read that fails, a file that became shorter, one that was replaced or
 *     written to since ox_file_open, a full disk: each is OX_ERR_IO with path and offset.
 *
 * WITH A GPU
 *     desc.compute = ox_vulkan(0) moves tiles there; operands in its memory may stand beside streamed ones.
 *     The numbers are the GPU's then. Reductions, and rows longer than a tile, stay with the CPU, which adds
 *     numbers up faster than they can be moved.
 *
 * WATCHING
 *     ox_stream_get_stats counts bytes, tiles and waiting; desc.progress is called after each tile; the
 *     trace of the profiler has lanes for disk, ring and compute.
 *
 * MACROS
 *     OX_USE_LIBURING      read through io_uring; it is asked at run time whether the system allows it.
 *                          liburing.h wants GNU C, as gcc and clang compile by themselves, not -std=c11
 *
 * LIMITS
 *     One operation at a time for each stream. Sorts and running sums along the only dim, attention over
 *     keys of one head beyond a tile, rows longer than a tile whose result lies in another order (softmax
 *     over the last dim of a transposed tensor), and other operations that cannot be cut load their
 *     operands as a whole, within the budget. Rows with gaps between their elements are read with the gaps.
 *     A file must not be written to while tensors lie in it; changed bytes are an error only if
 *     desc.checksums asks for that. Compressed members of .npz archives are unpacked in RAM and moved to
 *     the spill folder, numbers in the other byte order a piece at a time.
 */
#ifndef OX_TORCH_STREAM_H
#define OX_TORCH_STREAM_H

#ifndef OX_TORCH_FILE
#define OX_TORCH_FILE "oxtorch.h"
#endif
#include OX_TORCH_FILE
/* >>stream/stream.h */
/* Tensors larger than memory: a device whose memory is files and whose compute is another device.
 * A tensor on it is a region of a file. Operations are cut into tiles that flow through a ring of buffers, so
 * that reading, computing and writing overlap and memory stays under a budget. */
#ifndef OX_STREAM_STREAM_H
#define OX_STREAM_STREAM_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

typedef struct ox_stream ox_stream;

typedef enum ox_stream_reading {
    OX_STREAM_BEST = 0, /* io_uring where it was built in and the system allows it, else threads */
    OX_STREAM_THREADS   /* a pool of threads that read and write at offsets */
} ox_stream_reading;

/* All zeros is a good description. */
typedef struct ox_stream_desc {
    size_t ram_bytes;    /* the budget: what the library may hold in RAM beyond what it holds when the stream
                          * is opened; 0 = half of what the system, the memory limits of the process's
                          * groups (cgroups) and its own (ulimit) leave */
    size_t tile_bytes;   /* most bytes of an operand that are in one tile; 0 = 8 MiB, less if the budget is
                          * small, and after the first tiles what suits the disk: some milliseconds of it,
                          * 4 to 16 MiB. Rounded to 4 KiB, at least 16 KiB */
    int depth;           /* tiles on their way at once; 0 = 4, and after the first tiles what the disk's
                          * bandwidth and latency ask for; at least 3, at most 16 */
    int queue;           /* requests to the system in flight; 0 = 32, at most 256 */
    size_t result_bytes; /* results up to this size are made in RAM, larger ones in the spill folder;
                          * 0 = an eighth of the budget */
    const char *spill;   /* folder for results and tensors that are moved here; NULL = $TMPDIR, else /tmp */
    ox_device *compute;  /* what computes on the tiles: ox_cpu() (NULL is that) or ox_vulkan(0), to which
                          * tiles are moved; operands in its memory may stand beside streamed ones */
    ox_stream_reading reading;
    bool buffered;       /* always go through the system's page cache; otherwise only where a file system
                          * refuses direct transfers (tmpfs), and for pages in part */
    bool forgetful;      /* keep no tiles in RAM for the next pass */
    bool checksums;      /* a tile of a file that is read again must have the bytes that it had at first, and
                          * a page of the spill file those that were written, where a tile has all of it: 4
                          * bytes of RAM for each page */
    /* Called after each tile of an operation, in the thread that runs it; it must not use the stream. bytes:
     * of files, that operations have used since the stream was opened. NULL: nothing is called. */
    void (*progress)(void *user, int64_t tile, int64_t tiles, int64_t bytes);
    void *progress_user;
    /* For tests: asked before each transfer, possibly from several threads at once. number counts transfers
     * from 1. Gives how many of its bytes it may move (0 = the file ends here), or an errno made negative. */
    int64_t (*fault)(void *user, int64_t number, int64_t bytes);
    void *fault_user;
} ox_stream_desc;

/* ox_stream_open - makes a stream device. desc NULL = zeroed; it is copied.
 * memory    ring of tiles at once (2 x depth x tile_bytes); the rest of the budget as tiles are kept
 * errors    NULL: OX_ERR_ARG a budget too small for its tiles, or a stream as compute device; OX_ERR_NOMEM;
 *           OX_ERR_UNSUPPORTED a system without positioned reads
 * threads   one operation runs on a stream at a time; others wait for it
 * end       ox_device_close(ox_stream_device(stream)): tensors that are alive and files that are open keep
 *           the stream, and the last of them closes it. A child process (fork) cannot use its parent's
 *           streams: OX_ERR_DEVICE, and closing them there is nothing */
OX_API ox_stream *ox_stream_open(const ox_stream_desc *desc);
/* ox_stream_device - the device: ox_file_open("model.gguf", ox_stream_device(s)) gives tensors that stay in
 * the file, ox_to(t, ox_stream_device(s)) moves one to the spill folder, ox_to(t, ox_cpu()) brings one into
 * RAM. Operands in RAM may stand beside streamed ones, and results lie in RAM up to result_bytes; when a
 * GPU computes, in its memory instead. Every operation has the same bits as in RAM (on a GPU: as in its
 * memory, reductions as on the CPU). What cannot be cut (sort along the only dim, say) is loaded as a
 * whole, which is counted, or is OX_ERR_NOMEM when the budget has no room for it.
 * errors    of operations: OX_ERR_IO with path and offset; the result is dropped, files stay as they are */
OX_API ox_device *ox_stream_device(ox_stream *stream);

/* ox_stream_raw - a tensor over bytes of any file, from byte `offset` on: row-major, the host's byte order.
 * memory    one reference; read-only, as all that a stream reads from files (ox_clone it to write): what was
 *           written would have to stay somewhere. ox_stream_named makes a file that is written to
 * errors    NULL: OX_ERR_IO, also when the file is too short; OX_ERR_SHAPE; OX_ERR_DTYPE; OX_ERR_ARG */
OX_API ox_tensor *ox_stream_raw(ox_stream *stream, const char *path, int64_t offset, ox_dtype dtype,
                                ox_shape shape);

/* ox_stream_named - a tensor in a file of its own that stays: NAME.safetensors in the stream's spill folder,
 * with the one tensor NAME. Zeros at first; it can be written to: ox_copy_(t, result), ox_add_(t, x). What an
 * operation wrote is in the file when the operation returns; it reaches the disk when the system writes it.
 * memory    one reference; the file stays when it goes, also when the process is killed
 * errors    NULL: OX_ERR_IO a file of that name is there already, or there is no room; OX_ERR_SHAPE;
 *           OX_ERR_DTYPE; OX_ERR_ARG a name that cannot be one of a file; OX_ERR_UNSUPPORTED a dtype that
 *           safetensors does not know, a big-endian machine */
OX_API ox_tensor *ox_stream_named(ox_stream *stream, const char *name, ox_dtype dtype, ox_shape shape);

typedef struct ox_stream_stats {
    int64_t disk_bytes;     /* read from files */
    int64_t ram_bytes;      /* taken from tiles that were kept, instead of being read again */
    int64_t written_bytes;  /* to the spill file */
    int64_t calls, tiles;   /* operations, and tiles they were cut into */
    int64_t whole_loads;    /* operations with an operand that could not be cut into tiles */
    int64_t guesses;        /* reads begun before an operation asked for them */
    double stall_seconds;   /* computing waited for reads or writes */
    double compute_seconds; /* tiles were computed */
    double overlap;         /* the part of the time in operations that was not waiting: 0 to 1 */
    size_t ring_bytes;      /* held by the ring now */
    size_t kept_bytes;      /* held by tiles that are kept now */
    size_t tile_bytes;      /* of a tile, and tiles on their way at once, as chosen or adapted */
    int depth;
    double bandwidth;       /* bytes a second that the first tiles came at; 0: not measured yet */
    double latency;         /* seconds of a transfer that began with nothing else on its way, at least */
    int64_t ahead_bytes;    /* read ahead of operations and not used yet */
    size_t spilled_bytes;   /* live in the spill file now */
    bool uring;             /* requests go through io_uring */
} ox_stream_stats;
/* Counts since the stream was opened. Zeros for NULL. */
OX_API ox_stream_stats ox_stream_get_stats(ox_stream *stream);

OX_EXTERN_C_END
#endif
#endif

#endif /* OX_TORCH_STREAM_H */

/* From here on the text is packed: comments, blank lines and indentation are left out. To read it, see
 * src/ in the repository: what stands behind the mark >>base/error.c here is src/base/error.c there. */
#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_STREAM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_STREAM_IMPLEMENTED
#ifdef OX_USE_LIBURING
#include <liburing.h>
#endif
/* >>stream/internal.h */
#ifndef OX_STREAM_INTERNAL_H
#define OX_STREAM_INTERNAL_H
enum{
OXI_STREAM_PAGE=4096,OXI_STREAM_PIECE=1<<20,OXI_STREAM_OPERANDS=7,OXI_STREAM_WINDOW=16,
 OXI_STREAM_LEAST_DEPTH=3,OXI_STREAM_SLOTS=64,OXI_STREAM_PAST=512,OXI_STREAM_ENDED= -1};
typedef struct oxi_stream_file{
struct oxi_stream_file*next;
struct oxi_stream_region*regions;
int64_t references;
oxi_file_id id;
intptr_t plain,direct;
int slot[2];
bool writable;
char*path;
size_t path_bytes;}oxi_stream_file;
typedef struct oxi_stream_region{
struct oxi_stream_region*next;
struct ox_stream*stream;
oxi_stream_file*file;
uint64_t offset;
size_t bytes;
uint32_t*sums;}oxi_stream_region;
typedef struct oxi_stream_gap{
struct oxi_stream_gap*next;
uint64_t offset,bytes;}oxi_stream_gap;
typedef struct oxi_stream_load{
int64_t pending;
int64_t flow;
int cause;
uint64_t failed_at;}oxi_stream_load;
typedef struct oxi_stream_request{
struct oxi_stream_request*next;
oxi_stream_load*load;
oxi_stream_file*file;
uint64_t offset;
size_t bytes,done;
char*memory;
bool write,direct;
int retries,cause;
int64_t progress;
double start,end;
bool alone;}oxi_stream_request;
typedef struct oxi_stream_queue{oxi_stream_request*first,*last;}oxi_stream_queue;
#ifdef OX_NO_THREADS
typedef struct oxi_stream_mutex{int unused;}oxi_stream_mutex;
#else
typedef oxi_mutex oxi_stream_mutex;
enum{OXI_STREAM_THREADS_MOST=8};
#endif
typedef struct oxi_stream_reader{
int64_t flying;
int most;
int64_t(*fault)(void*user,int64_t number,int64_t bytes);
void*fault_user;
int64_t fault_number;
int64_t progress;
oxi_stream_queue waiting,finished;
bool uses_uring;
#ifdef OX_USE_LIBURING
struct io_uring uring;
oxi_stream_queue prepared;
int in_system;
const char*buffer;
size_t buffer_bytes;
bool knows_files;
uint64_t slots_taken;
#endif
#ifndef OX_NO_THREADS
oxi_mutex mutex;
oxi_condition work,ready;
oxi_thread threads[OXI_STREAM_THREADS_MOST];
int thread_count;
bool stopping;
#endif
}oxi_stream_reader;
typedef struct oxi_stream_range{
struct oxi_stream_range*chain;
struct oxi_stream_range*successor;
oxi_stream_file*file;
uint64_t offset;
size_t bytes;
char*memory;
struct oxi_stream_slab*slab;
oxi_stream_load load;
int users;
uint64_t used_at;
uint64_t sum;
bool has_sum,checked;
bool guessed;
bool far;}oxi_stream_range;
typedef struct oxi_stream_slab{
struct oxi_stream_slab*next;
char*block;
size_t bytes,used;
size_t touched;
uint64_t used_at;}oxi_stream_slab;
typedef struct oxi_stream_cell{
char*memory;
oxi_stream_load load;
oxi_stream_range*range;
int users;
bool checked;
bool guessed;
bool storing;}oxi_stream_cell;
typedef struct oxi_stream_layout{
size_t bytes;
uint64_t first;
size_t run;
int loops;
int64_t count[OX_MAX_DIMS],step[OX_MAX_DIMS];
bool gaps;
int align;
int64_t offset,stride[OX_MAX_DIMS];}oxi_stream_layout;
typedef enum oxi_stream_use{
OXI_STREAM_UNUSED=0,OXI_STREAM_LOAD=1,OXI_STREAM_STORE=2}oxi_stream_use;
typedef struct oxi_stream_source{
unsigned use;
const oxi_stream_region*region;
oxi_stream_layout layout;
oxi_stream_cell*cell;
oxi_stream_range*range;
char*data;}oxi_stream_source;
typedef struct oxi_stream_step{
oxi_stream_source source[OXI_STREAM_OPERANDS];
unsigned wanted,ready;}oxi_stream_step;
typedef struct oxi_stream_flow{
int64_t count;
int cells;
size_t cell_bytes;
int window;
bool unlearned;
ox_device*device;
const char*pinned;
size_t pinned_bytes;
ox_status(*prepare)(struct oxi_stream_flow*flow,int64_t index,oxi_stream_step*step);
ox_status(*compute)(struct oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step);}oxi_stream_flow;
typedef struct oxi_stream_pace{
bool sets_tile,sets_depth;
bool settled;
double latency;
int64_t bytes;
double seconds;
double bandwidth;}oxi_stream_pace;
static ox_status oxi_stream_run(ox_device*self,const oxi_call*call);
enum{OXI_STREAM_BUCKETS=4096,OXI_STREAM_RANGES_MOST=1<<18};
struct ox_stream{
ox_device device;
char name[32];
int64_t references;
int64_t forks;
oxi_stream_mutex lock;
ox_stream_desc desc;
size_t base_bytes;
oxi_stream_file*files;
oxi_stream_reader reader;
void*request_blocks;
oxi_stream_request*free_requests;
char*ring_block;
size_t ring_block_bytes,cell_room;
oxi_pinned_memory ring_pin;
oxi_stream_cell*cells;
int cell_count,cell_record_room;
oxi_stream_step steps[OXI_STREAM_WINDOW];
oxi_stream_load stores;
int64_t flow;
oxi_stream_range*buckets[OXI_STREAM_BUCKETS];
oxi_stream_range*last;
oxi_stream_range*past[OXI_STREAM_PAST];
int64_t past_count;
int64_t range_count;
uint64_t clock;
oxi_stream_slab*slabs;
size_t slab_bytes;
oxi_stream_pace pace;
oxi_stream_file*spill;
char*spill_folder;
size_t spill_folder_bytes;
oxi_stream_gap*gaps;
uint64_t spill_end;
uint64_t spill_budget,spill_peak;
ox_stream_stats stats;
double busy_seconds;};
#endif
/* >>stream/file/file.c */
#if defined(OXI_POSIX)
#if !defined(__cplusplus)
int ftruncate(int file,off_t bytes);
#endif
#ifndef O_LARGEFILE
#define O_LARGEFILE 0
#endif
#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__) || defined(__riscv))
#define OXI_STREAM_DIRECT 040000
#define OXI_STREAM_UNNAMED (020000000|0200000)
#elif defined(__linux__) && (defined(__aarch64__) || defined(__arm__))
#define OXI_STREAM_DIRECT 0200000
#define OXI_STREAM_UNNAMED (020000000|040000)
#endif
static intptr_t oxi_stream_handle_open(const char*path,bool direct){
int flags=O_RDONLY|O_CLOEXEC|O_LARGEFILE;
#ifdef OXI_STREAM_DIRECT
if(direct)flags|=OXI_STREAM_DIRECT;
#else
if(direct)return-1;
#endif
int file=open(path,flags|O_NONBLOCK);
if(file>=0&&fcntl(file,F_SETFL,flags)==0)return file;
if(file>=0)(void)close(file);
return-1;}
static void oxi_stream_handle_close(intptr_t handle){
if(handle>=0)(void)close((int)handle);}
static intptr_t oxi_stream_handle_unnamed(const char*folder,char*path,size_t room){
int flags=O_RDWR|O_CLOEXEC|O_LARGEFILE;
#ifdef OXI_STREAM_UNNAMED
int file=open(folder,flags|OXI_STREAM_UNNAMED,0600);
if(file>=0||(errno!=EISDIR&&errno!=EOPNOTSUPP&&errno!=ENOENT))return file;
#endif
(void)snprintf(path,room,"%s/oxtorch-%016llx.spill",folder,(unsigned long long)oxi_unpredictable());
int named=open(path,flags|O_CREAT|O_EXCL,0600);
if(named>=0)(void)unlink(path);
return named;}
static intptr_t oxi_stream_handle_create(const char*path){
return open(path,O_RDWR|O_CLOEXEC|O_LARGEFILE|O_CREAT|O_EXCL,0666);}
static int64_t oxi_stream_handle_move(intptr_t handle,bool write,void*memory,size_t bytes,uint64_t offset){
if(offset>INT64_MAX)return-EINVAL;
ssize_t moved=write?OXI_PWRITE((int)handle,memory,bytes,(int64_t)offset)
 :OXI_PREAD((int)handle,memory,bytes,(int64_t)offset);
return moved<0? -(int64_t)errno:(int64_t)moved;}
static void oxi_stream_handle_resize(intptr_t handle,uint64_t bytes){
if((uint64_t)(off_t)bytes==bytes&&ftruncate((int)handle,(off_t)bytes)!=0)return;}
static int oxi_stream_handle_reserve(intptr_t handle,uint64_t from,uint64_t bytes){
#if defined(__linux__) && defined(__LP64__) && defined(SYS_fallocate)
if(syscall(SYS_fallocate,(long)handle,0L,(long)from,(long)bytes)!=0&&errno==ENOSPC)
return ENOSPC;
#else
(void)handle,(void)from,(void)bytes;
#endif
return 0;}
#if defined(__linux__) && defined(__LP64__) && defined(SYS_sync_file_range) && defined(SYS_fadvise64)
#define OXI_STREAM_CAN_SETTLE 1
#endif
static void oxi_stream_handle_settle(intptr_t handle){
#ifdef OXI_STREAM_CAN_SETTLE
const long wait_write_wait=7,not_needed=4;
if(syscall(SYS_sync_file_range,(long)handle,0L,0L,wait_write_wait)!=0)return;
(void)syscall(SYS_fadvise64,(long)handle,0L,0L,not_needed);
#else
(void)handle;
#endif
}
static intptr_t oxi_stream_handle_direct(intptr_t handle){
#if defined(OXI_STREAM_CAN_SETTLE) && defined(OXI_STREAM_DIRECT)
char path[64];
(void)snprintf(path,sizeof path,"/proc/self/fd/%d",(int)handle);
return open(path,O_RDWR|O_CLOEXEC|O_LARGEFILE|OXI_STREAM_DIRECT);
#else
(void)handle;
return-1;
#endif
}
static ox_status oxi_stream_identify(intptr_t handle,const char*path,oxi_file_id*id,uint64_t*bytes){
struct stat info;
if(fstat((int)handle,&info)!=0)
return oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(path),strerror(errno));
if(!S_ISREG(info.st_mode))return oxi_fail(OX_ERR_IO,"%s: is not a regular file",oxi_path_text(path));
*id=oxi_file_id_of(&info);
*bytes=(uint64_t)info.st_size;
return OX_OK;}
#elif defined(_WIN32)
static intptr_t oxi_stream_handle_open(const char*path,bool direct){
wchar_t wide[OXI_WIDE_ROOM];
if(direct|| !oxi_wide_path(path,wide))return-1;
HANDLE file=CreateFileW(wide,GENERIC_READ,FILE_SHARE_READ|FILE_SHARE_DELETE,NULL,OPEN_EXISTING,0,NULL);
errno=ENOENT;
return file==INVALID_HANDLE_VALUE? -1:(intptr_t)file;}
static void oxi_stream_handle_close(intptr_t handle){
if(handle!= -1)CloseHandle((HANDLE)handle);}
static intptr_t oxi_stream_handle_unnamed(const char*folder,char*path,size_t room){
wchar_t wide[OXI_WIDE_ROOM];
(void)snprintf(path,room,"%s/oxtorch-%016llx.spill",folder,(unsigned long long)oxi_unpredictable());
if(!oxi_wide_path(path,wide))return-1;
HANDLE file=CreateFileW(wide,GENERIC_READ|GENERIC_WRITE,FILE_SHARE_DELETE,NULL,CREATE_NEW,
 FILE_ATTRIBUTE_TEMPORARY|FILE_FLAG_DELETE_ON_CLOSE,NULL);
errno=EACCES;
return file==INVALID_HANDLE_VALUE? -1:(intptr_t)file;}
static intptr_t oxi_stream_handle_create(const char*path){
wchar_t wide[OXI_WIDE_ROOM];
if(!oxi_wide_path(path,wide))return-1;
HANDLE file=CreateFileW(wide,GENERIC_READ|GENERIC_WRITE,FILE_SHARE_READ|FILE_SHARE_DELETE,NULL,
 CREATE_NEW,0,NULL);
errno=GetLastError()==ERROR_FILE_EXISTS?EEXIST:EACCES;
return file==INVALID_HANDLE_VALUE? -1:(intptr_t)file;}
static int64_t oxi_stream_handle_move(intptr_t handle,bool write,void*memory,size_t bytes,uint64_t offset){
OVERLAPPED at;
DWORD moved=0,part=bytes>(1u<<30)?1u<<30:(DWORD)bytes;
memset(&at,0,sizeof at);
at.Offset=(DWORD)(offset&0xffffffffu);
at.OffsetHigh=(DWORD)(offset>>32);
BOOL done=write?WriteFile((HANDLE)handle,memory,part,&moved,&at)
 :ReadFile((HANDLE)handle,memory,part,&moved,&at);
if(done)return(int64_t)moved;
DWORD code=GetLastError();
if(!write&&code==ERROR_HANDLE_EOF)return 0;
return code==ERROR_DISK_FULL? -ENOSPC: -EIO;}
static void oxi_stream_handle_resize(intptr_t handle,uint64_t bytes){
LARGE_INTEGER end;
end.QuadPart=(LONGLONG)bytes;
if(SetFilePointerEx((HANDLE)handle,end,NULL,FILE_BEGIN))(void)SetEndOfFile((HANDLE)handle);}
static ox_status oxi_stream_identify(intptr_t handle,const char*path,oxi_file_id*id,uint64_t*bytes){
BY_HANDLE_FILE_INFORMATION info;
if(!GetFileInformationByHandle((HANDLE)handle,&info))
return oxi_fail(OX_ERR_IO,"%s: is not a regular file",oxi_path_text(path));
*id=oxi_file_id_of(&info);
*bytes=(uint64_t)info.nFileSizeHigh<<32|info.nFileSizeLow;
return OX_OK;}
#else
static intptr_t oxi_stream_handle_open(const char*path,bool direct){
(void)path,(void)direct;
errno=EINVAL;
return-1;}
static void oxi_stream_handle_close(intptr_t handle){
(void)handle;}
static intptr_t oxi_stream_handle_unnamed(const char*folder,char*path,size_t room){
(void)folder,(void)path,(void)room;
return-1;}
static intptr_t oxi_stream_handle_create(const char*path){
(void)path;
return-1;}
static int64_t oxi_stream_handle_move(intptr_t handle,bool write,void*memory,size_t bytes,uint64_t offset){
(void)handle,(void)write,(void)memory,(void)bytes,(void)offset;
return-EINVAL;}
static void oxi_stream_handle_resize(intptr_t handle,uint64_t bytes){
(void)handle,(void)bytes;}
static ox_status oxi_stream_identify(intptr_t handle,const char*path,oxi_file_id*id,uint64_t*bytes){
(void)handle,(void)id,(void)bytes;
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: this system has no reads at an offset",oxi_path_text(path));}
#endif
#if !defined(OXI_POSIX)
static int oxi_stream_handle_reserve(intptr_t handle,uint64_t from,uint64_t bytes){
(void)handle,(void)from,(void)bytes;
return 0;}
static intptr_t oxi_stream_handle_direct(intptr_t handle){
(void)handle;
return-1;}
static void oxi_stream_handle_settle(intptr_t handle){
(void)handle;}
#endif
static void oxi_ring_forget(ox_stream*stream);
static void oxi_capacitor_forget_file(ox_stream*stream,const oxi_stream_file*file);
static void oxi_reader_forget_file(oxi_stream_reader*reader,oxi_stream_file*file);
static void oxi_reader_know_file(oxi_stream_reader*reader,oxi_stream_file*file);
static void oxi_stream_file_free(oxi_stream_file*file){
oxi_stream_handle_close(file->plain);
oxi_stream_handle_close(file->direct);
oxi_free(file->path,file->path_bytes);
oxi_free(file,sizeof*file);}
static void oxi_stream_file_release(ox_stream*stream,oxi_stream_file*file){
if(--file->references>0)return;
oxi_ring_forget(stream);
oxi_capacitor_forget_file(stream,file);
for(oxi_stream_file**link= &stream->files;*link;link= &(*link)->next)
if(*link==file){
*link=file->next;
break;}
oxi_reader_forget_file(&stream->reader,file);
oxi_stream_file_free(file);}
static oxi_stream_file*oxi_stream_file_new(const char*path){
oxi_stream_file*file=(oxi_stream_file*)oxi_calloc(1,sizeof*file);
if(!file)return NULL;
file->references=1;
file->plain=file->direct= -1;
file->slot[0]=file->slot[1]= -1;
file->path_bytes=strlen(path)+1;
file->path=(char*)oxi_alloc(file->path_bytes);
if(file->path){
memcpy(file->path,path,file->path_bytes);
return file;}
oxi_stream_file_free(file);
return NULL;}
static ox_status oxi_stream_file_open(ox_stream*stream,const char*path,oxi_stream_file**out,
 uint64_t*bytes){
oxi_stream_file*file=oxi_stream_file_new(path),*there=stream->files;
if(!file)return OX_ERR_NOMEM;
file->plain=oxi_stream_handle_open(path,false);
ox_status status=file->plain== -1?oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(path),strerror(errno))
 :oxi_stream_identify(file->plain,path,&file->id,bytes);
while(status==OX_OK&&there&&memcmp(&there->id,&file->id,sizeof file->id)!=0)
there=there->next;
if(status!=OX_OK||there){
oxi_stream_file_free(file);
if(status==OX_OK)there->references++;
*out=there;
return status;}
if(!stream->desc.buffered)file->direct=oxi_stream_handle_open(path,true);
oxi_reader_know_file(&stream->reader,file);
file->next=stream->files;
stream->files=file;
*out=file;
return OX_OK;}
static size_t oxi_region_pages(const oxi_stream_region*region){
return region->bytes/OXI_STREAM_PAGE +(region->bytes%OXI_STREAM_PAGE!=0);}
static oxi_stream_region*oxi_stream_region_new(ox_stream*stream,oxi_stream_file*file,uint64_t offset,
 size_t bytes){
oxi_stream_region*region=(oxi_stream_region*)oxi_alloc(sizeof*region);
if(!region)return NULL;
region->stream=stream;
region->file=file;
region->offset=offset;
region->bytes=bytes;
region->sums=NULL;
if(file->writable&&stream->desc.checksums&&bytes>0){
region->sums=(uint32_t*)oxi_calloc(oxi_region_pages(region),sizeof*region->sums);
if(!region->sums){
oxi_free(region,sizeof*region);
return NULL;}}
region->next=NULL;
if(!file->writable){
region->next=file->regions;
file->regions=region;}
stream->references++;
return region;}
static void oxi_stream_region_unlink(oxi_stream_region*region){
oxi_stream_region**link= &region->file->regions;
while(*link&& *link!=region)link= &(*link)->next;
if(*link)*link=region->next;}
static void oxi_stream_region_delete(oxi_stream_region*region){
if(region->sums)oxi_free(region->sums,oxi_region_pages(region)*sizeof*region->sums);
oxi_free(region,sizeof*region);}
static ox_status oxi_stream_region_open(ox_stream*stream,const char*path,const oxi_file_id*id,
 uint64_t offset,size_t bytes,oxi_stream_region**out){
oxi_stream_file*file=NULL;
uint64_t size=0;
*out=NULL;
ox_status status=oxi_stream_file_open(stream,path,&file,&size);
if(status!=OX_OK)return status;
if(id&&memcmp(id,&file->id,sizeof*id)!=0)
status=oxi_fail(OX_ERR_IO,"%s: offset %llu: the file was replaced or written to since it was opened",
 oxi_path_text(path),(unsigned long long)offset);
else if(offset>size||bytes>size -offset)
status=oxi_fail(OX_ERR_IO,"%s: offset %llu: %llu bytes are asked for, the file ends at %llu",
 oxi_path_text(path),(unsigned long long)offset,(unsigned long long)bytes,(unsigned long long)size);
else
*out=oxi_stream_region_new(stream,file,offset,bytes);
if(*out)return OX_OK;
oxi_stream_file_release(stream,file);
return status==OX_OK?OX_ERR_NOMEM:status;}
/* >>stream/file/spill.c */
static ox_status oxi_spill_open(ox_stream*stream){
if(stream->spill)return OX_OK;
oxi_stream_file*file=oxi_stream_file_new(stream->spill_folder);
if(!file)return OX_ERR_NOMEM;
char path[1024];
file->writable=true;
file->plain=oxi_stream_handle_unnamed(stream->spill_folder,path,sizeof path);
if(file->plain== -1){
int cause=errno;
oxi_stream_file_free(file);
return oxi_fail(OX_ERR_IO,"%s: no spill file can be made there: %s",
 oxi_path_text(stream->spill_folder),strerror(cause));}
if(!stream->desc.buffered)file->direct=oxi_stream_handle_direct(file->plain);
oxi_reader_know_file(&stream->reader,file);
stream->spill=file;
return OX_OK;}
static uint64_t oxi_spill_round(size_t bytes){
return((uint64_t)bytes+OXI_STREAM_PAGE -1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;}
static bool oxi_spill_take(ox_stream*stream,uint64_t bytes,uint64_t*out){
for(oxi_stream_gap**link= &stream->gaps;*link;link= &(*link)->next){
oxi_stream_gap*gap= *link;
if(gap->bytes<bytes)continue;
*out=gap->offset;
gap->offset+=bytes;
gap->bytes-=bytes;
if(gap->bytes==0){
*link=gap->next;
oxi_free(gap,sizeof*gap);}
return true;}
*out=stream->spill_end;
if(bytes>0&&oxi_stream_handle_reserve(stream->spill->plain,*out,bytes)!=0){
oxi_stream_handle_resize(stream->spill->plain,*out);
return false;}
stream->spill_end+=bytes;
oxi_stream_handle_resize(stream->spill->plain,stream->spill_end);
return true;}
static void oxi_spill_shrink(ox_stream*stream){
oxi_stream_gap**link= &stream->gaps;
while(*link&&(*link)->next)link= &(*link)->next;
oxi_stream_gap*gap= *link;
if(gap&&gap->offset+gap->bytes==stream->spill_end){
stream->spill_end=gap->offset;
*link=NULL;
oxi_free(gap,sizeof*gap);}
oxi_stream_handle_resize(stream->spill->plain,stream->spill_end);}
static void oxi_spill_give(ox_stream*stream,uint64_t offset,uint64_t bytes){
oxi_stream_gap*before=NULL,*after=stream->gaps;
if(bytes==0)return;
while(after&&after->offset<offset){
before=after;
after=after->next;}
if(before&&before->offset+before->bytes==offset){
before->bytes+=bytes;}else{
oxi_stream_gap*gap=(oxi_stream_gap*)oxi_try_alloc(sizeof*gap);
if(!gap)return;
gap->offset=offset;
gap->bytes=bytes;
gap->next=after;
if(before)
before->next=gap;
else
stream->gaps=gap;
before=gap;}
if(after&&before->offset+before->bytes==after->offset){
before->bytes+=after->bytes;
before->next=after->next;
oxi_free(after,sizeof*after);}
oxi_spill_shrink(stream);}
static ox_status oxi_spill_alloc(ox_stream*stream,size_t bytes,oxi_stream_region**out){
ox_status status=oxi_spill_open(stream);
if(status!=OX_OK)return status;
uint64_t room=oxi_spill_round(bytes),offset=0,used=stream->stats.spilled_bytes;
if(stream->spill_budget>0&&(used>stream->spill_budget||room>stream->spill_budget-used))
return oxi_fail(OX_ERR_NOMEM,"%s: out of memory: %llu bytes needed, %llu in use, a budget of %llu",
 stream->name,(unsigned long long)room,(unsigned long long)used,(unsigned long long)stream->spill_budget);
if(!oxi_spill_take(stream,room,&offset))
return oxi_fail(OX_ERR_IO,"%s: offset %llu: no room for %llu bytes of the spill file",
 oxi_path_text(stream->spill_folder),(unsigned long long)stream->spill_end,(unsigned long long)room);
*out=oxi_stream_region_new(stream,stream->spill,offset,bytes);
if(!*out){
oxi_spill_give(stream,offset,room);
return OX_ERR_NOMEM;}
stream->stats.spilled_bytes+=(size_t)room;
if(stream->stats.spilled_bytes>stream->spill_peak)stream->spill_peak=stream->stats.spilled_bytes;
return OX_OK;}
static void oxi_spill_free(ox_stream*stream,const oxi_stream_region*region){
uint64_t room=oxi_spill_round(region->bytes);
stream->stats.spilled_bytes-=(size_t)room;
oxi_spill_give(stream,region->offset,room);}
static void oxi_spill_close(ox_stream*stream){
while(stream->gaps){
oxi_stream_gap*gap=stream->gaps;
stream->gaps=gap->next;
oxi_free(gap,sizeof*gap);}
if(!stream->spill)return;
oxi_reader_forget_file(&stream->reader,stream->spill);
oxi_stream_file_free(stream->spill);
stream->spill=NULL;}
static ox_status oxi_named_fill(const oxi_stream_file*file,char*header,size_t bytes,uint64_t room){
int64_t moved=0;
int cause=oxi_stream_handle_reserve(file->plain,0,room);
for(size_t at=0;cause==0&&at<bytes;at+=(size_t)moved){
do moved=oxi_stream_handle_move(file->plain,true,header+at,bytes-at,at);
while(moved== -EINTR);
if(moved<=0)cause=moved<0?(int)-moved:ENOSPC;}
if(cause==0){
oxi_stream_handle_resize(file->plain,room);
return OX_OK;}
oxi_remove_file(file->path);
return oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(file->path),strerror(cause));}
static ox_status oxi_named_open(ox_stream*stream,const char*path,char*header,size_t header_bytes,
 size_t bytes,oxi_stream_region**out){
oxi_stream_file*file=oxi_stream_file_new(path);
if(!file)return OX_ERR_NOMEM;
file->writable=true;
file->plain=oxi_stream_handle_create(path);
ox_status status=file->plain== -1?oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(path),strerror(errno))
 :oxi_named_fill(file,header,header_bytes,header_bytes+bytes);
if(status!=OX_OK){
oxi_stream_file_free(file);
return status;}
if(!stream->desc.buffered)file->direct=oxi_stream_handle_direct(file->plain);
oxi_reader_know_file(&stream->reader,file);
*out=oxi_stream_region_new(stream,file,header_bytes,bytes);
if(*out)return OX_OK;
oxi_remove_file(path);
oxi_stream_file_release(stream,file);
return OX_ERR_NOMEM;}
/* >>stream/file/reader.c */
static uint64_t oxi_request_begin(const oxi_stream_request*r){
return r->direct?r->offset/OXI_STREAM_PAGE*OXI_STREAM_PAGE:r->offset;}
static size_t oxi_request_need(const oxi_stream_request*r){
return(size_t)(r->offset-oxi_request_begin(r))+r->bytes;}
static void oxi_request_make_plain(oxi_stream_request*r){
size_t lead=(size_t)(r->offset-oxi_request_begin(r));
r->done=r->done>lead?r->done -lead:0;
r->direct=false;}
typedef struct oxi_stream_transfer{
intptr_t handle;
int slot;
uint64_t offset;
size_t bytes;
char*memory;}oxi_stream_transfer;
static bool oxi_request_next(oxi_stream_reader*reader,oxi_stream_request*r,oxi_stream_transfer*out,
 int64_t*result){
uint64_t begin=oxi_request_begin(r);
size_t end=oxi_request_need(r);
if(r->direct)end=(end+OXI_STREAM_PAGE -1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
out->handle=r->direct?r->file->direct:r->file->plain;
out->slot=r->file->slot[r->direct];
out->offset=begin+r->done;
out->bytes=end-r->done;
out->memory=r->memory-(size_t)(r->offset-begin)+r->done;
if(!reader->fault)return true;
*result=reader->fault(reader->fault_user,oxi_atomic_add(&reader->fault_number,1),(int64_t)out->bytes);
if(*result<=0)return false;
if((size_t)*result<out->bytes)out->bytes=(size_t)*result;
if(r->direct&&out->bytes%OXI_STREAM_PAGE!=0){
oxi_request_make_plain(r);
*result= -EINTR;
return false;}
return true;}
static bool oxi_request_is_over(oxi_stream_reader*reader,oxi_stream_request*r,int64_t result){
enum{RETRIES_MOST=256};
if(result>0){
oxi_atomic_add(&reader->progress,1);
r->done +=(size_t)result;
if(r->done>=oxi_request_need(r))return true;
if(r->direct&&r->done%OXI_STREAM_PAGE!=0)oxi_request_make_plain(r);
return false;}
if(result==0){
r->cause=r->write?ENOSPC:OXI_STREAM_ENDED;
return true;}
int cause=(int)-result;
bool again=cause==EINTR||cause==EAGAIN;
int64_t progress=oxi_atomic_load(&reader->progress);
if(progress!=r->progress)r->retries=0;
r->progress=progress;
if(again&&r->retries++ <RETRIES_MOST)return false;
r->retries=0;
if(r->direct){
oxi_request_make_plain(r);
return false;}
r->cause=cause;
return true;}
static bool oxi_request_advance(oxi_stream_reader*reader,oxi_stream_request*r,int64_t result){
bool over=oxi_request_is_over(reader,r,result);
if(over)r->end=oxi_now();
return over;}
OXI_UNUSED static void oxi_request_execute(oxi_stream_reader*reader,oxi_stream_request*r){
oxi_stream_transfer t;
int64_t result=0;
do{
if(oxi_request_next(reader,r,&t,&result))
result=oxi_stream_handle_move(t.handle,r->write,t.memory,t.bytes,t.offset);
 }while(!oxi_request_advance(reader,r,result));}
static void oxi_queue_put(oxi_stream_queue*queue,oxi_stream_request*r){
r->next=NULL;
if(queue->last)
queue->last->next=r;
else
queue->first=r;
queue->last=r;}
static oxi_stream_request*oxi_queue_take(oxi_stream_queue*queue){
oxi_stream_request*r=queue->first;
if(!r)return NULL;
queue->first=r->next;
if(!queue->first)queue->last=NULL;
return r;}
#ifndef OX_NO_THREADS
static void oxi_stream_worker(oxi_stream_reader*reader){
oxi_mutex_take(&reader->mutex);
for(;;){
oxi_stream_request*r=oxi_queue_take(&reader->waiting);
if(r){
oxi_mutex_give(&reader->mutex);
oxi_request_execute(reader,r);
oxi_mutex_take(&reader->mutex);
oxi_queue_put(&reader->finished,r);
oxi_condition_wake(&reader->ready);}else if(reader->stopping){
break;}else{
oxi_condition_wait(&reader->work,&reader->mutex);}}
oxi_mutex_give(&reader->mutex);}
#if defined(_WIN32)
static DWORD WINAPI oxi_stream_worker_main(LPVOID reader){
oxi_stream_worker((oxi_stream_reader*)reader);
return 0;}
static bool oxi_stream_thread_start(oxi_thread*out,oxi_stream_reader*reader){
*out=CreateThread(NULL,(SIZE_T)256<<10,oxi_stream_worker_main,reader,0,NULL);
return*out!=NULL;}
#else
static void*oxi_stream_worker_main(void*reader){
oxi_stream_worker((oxi_stream_reader*)reader);
return NULL;}
static bool oxi_stream_thread_start(oxi_thread*out,oxi_stream_reader*reader){
return pthread_create(out,NULL,oxi_stream_worker_main,reader)==0;}
#endif
static void oxi_stream_start_threads(oxi_stream_reader*reader){
static const oxi_mutex open_mutex=OXI_MUTEX_OPEN;
static const oxi_condition new_condition=OXI_CONDITION_NEW;
reader->mutex=open_mutex;
reader->work=reader->ready=new_condition;
int want=reader->most<OXI_STREAM_THREADS_MOST?reader->most:OXI_STREAM_THREADS_MOST;
while(reader->thread_count<want&&oxi_stream_thread_start(&reader->threads[reader->thread_count],reader))
reader->thread_count++;}
static void oxi_stream_stop_threads(oxi_stream_reader*reader){
oxi_mutex_take(&reader->mutex);
reader->stopping=true;
oxi_condition_wake_all(&reader->work);
oxi_mutex_give(&reader->mutex);
for(int i=0;i<reader->thread_count;i++)oxi_thread_join(reader->threads[i]);
reader->thread_count=0;}
#endif
OXI_UNUSED static void oxi_reader_go_on(oxi_stream_reader*reader){
oxi_stream_request*r;
#ifndef OX_NO_THREADS
oxi_stream_start_threads(reader);
if(reader->thread_count>0)return;
#endif
while((r=oxi_queue_take(&reader->waiting))){
oxi_request_execute(reader,r);
oxi_queue_put(&reader->finished,r);}}
#ifdef OX_USE_LIBURING
static void oxi_uring_prepare(const oxi_stream_reader*reader,struct io_uring_sqe*entry,bool write,
 const oxi_stream_transfer*t){
bool known=reader->buffer&&t->memory>=reader->buffer&&
 t->memory+t->bytes<=reader->buffer+reader->buffer_bytes;
int handle=t->slot>=0?t->slot:(int)t->handle;
unsigned bytes=(unsigned)t->bytes;
if(write&&known)
io_uring_prep_write_fixed(entry,handle,t->memory,bytes,t->offset,0);
else if(write)
io_uring_prep_write(entry,handle,t->memory,bytes,t->offset);
else if(known)
io_uring_prep_read_fixed(entry,handle,t->memory,bytes,t->offset,0);
else
io_uring_prep_read(entry,handle,t->memory,bytes,t->offset);
if(t->slot>=0)io_uring_sqe_set_flags(entry,IOSQE_FIXED_FILE);}
static bool oxi_uring_hand_over(oxi_stream_reader*reader,unsigned wait){
int result=io_uring_submit_and_wait(&reader->uring,wait);
unsigned left=io_uring_sq_ready(&reader->uring),count=0;
for(oxi_stream_request*r=reader->prepared.first;r;r=r->next)count++;
for(;count>left;count--)(void)oxi_queue_take(&reader->prepared);
return result>=0||result== -EINTR||result== -EAGAIN||result== -EBUSY||result== -ENOMEM;}
static void oxi_uring_take_back(oxi_stream_reader*reader,struct io_uring_cqe*completion){
oxi_stream_request*r=(oxi_stream_request*)io_uring_cqe_get_data(completion);
int64_t result=completion->res;
io_uring_cqe_seen(&reader->uring,completion);
reader->in_system--;
oxi_queue_put(oxi_request_advance(reader,r,result)? &reader->finished: &reader->waiting,r);}
static void oxi_uring_leave(oxi_stream_reader*reader){
struct io_uring_cqe*completion=NULL;
oxi_stream_request*r;
for(;(r=oxi_queue_take(&reader->prepared));reader->in_system--)oxi_queue_put(&reader->waiting,r);
while(reader->in_system>0)
if(io_uring_peek_cqe(&reader->uring,&completion)==0)
oxi_uring_take_back(reader,completion);
else
oxi_yield();
io_uring_queue_exit(&reader->uring);
reader->uses_uring=false;
oxi_reader_go_on(reader);}
static void oxi_uring_feed(oxi_stream_reader*reader){
bool fed=false;
while(reader->waiting.first&&reader->in_system<reader->most){
oxi_stream_request*r=oxi_queue_take(&reader->waiting);
oxi_stream_transfer t;
int64_t result=0;
if(!oxi_request_next(reader,r,&t,&result)){
oxi_queue_put(oxi_request_advance(reader,r,result)? &reader->finished: &reader->waiting,r);
continue;}
struct io_uring_sqe*entry=io_uring_get_sqe(&reader->uring);
oxi_uring_prepare(reader,entry,r->write,&t);
io_uring_sqe_set_data(entry,r);
oxi_queue_put(&reader->prepared,r);
reader->in_system++;
fed=true;}
if(fed&& !oxi_uring_hand_over(reader,0))oxi_uring_leave(reader);}
static void oxi_uring_reap(oxi_stream_reader*reader,bool sleep){
struct io_uring_cqe*completion=NULL;
oxi_uring_feed(reader);
while(reader->uses_uring&&reader->in_system>0){
bool wait=sleep&& !reader->finished.first;
if(wait&& !oxi_uring_hand_over(reader,1)){
oxi_uring_leave(reader);}else if(io_uring_peek_cqe(&reader->uring,&completion)==0){
oxi_uring_take_back(reader,completion);
oxi_uring_feed(reader);}else if(!wait){
return;}}}
static void oxi_uring_know_handle(oxi_stream_reader*reader,intptr_t handle,int*slot){
int at=0,file=(int)handle;
*slot= -1;
while(at<OXI_STREAM_SLOTS&&(reader->slots_taken>>at&1))at++;
if(handle<0||at==OXI_STREAM_SLOTS)return;
if(io_uring_register_files_update(&reader->uring,(unsigned)at,&file,1)!=1)return;
reader->slots_taken|=(uint64_t)1<<at;
*slot=at;}
static void oxi_uring_forget_handle(oxi_stream_reader*reader,int*slot){
int none= -1;
if(*slot<0|| !reader->uses_uring)return;
(void)io_uring_register_files_update(&reader->uring,(unsigned)*slot,&none,1);
reader->slots_taken&= ~((uint64_t)1<< *slot);
*slot= -1;}
static void oxi_uring_open(oxi_stream_reader*reader){
int none[OXI_STREAM_SLOTS];
reader->uses_uring=io_uring_queue_init((unsigned)reader->most,&reader->uring,0)==0;
for(int i=0;i<OXI_STREAM_SLOTS;i++)none[i]= -1;
if(!reader->uses_uring)return;
reader->knows_files=io_uring_register_files(&reader->uring,none,OXI_STREAM_SLOTS)==0;}
#endif
static void oxi_reader_open(oxi_stream_reader*reader,const ox_stream_desc*desc){
reader->most=desc->queue;
reader->fault=desc->fault;
reader->fault_user=desc->fault_user;
#ifdef OX_USE_LIBURING
if(desc->reading==OX_STREAM_BEST)oxi_uring_open(reader);
#endif
#ifndef OX_NO_THREADS
if(!reader->uses_uring)oxi_stream_start_threads(reader);
#endif
}
static void oxi_reader_close(oxi_stream_reader*reader){
(void)reader;
#ifdef OX_USE_LIBURING
if(reader->uses_uring)io_uring_queue_exit(&reader->uring);
#endif
#ifndef OX_NO_THREADS
if(!reader->uses_uring)oxi_stream_stop_threads(reader);
#endif
}
static void oxi_reader_know_memory(oxi_stream_reader*reader,char*memory,size_t bytes){
(void)reader,(void)memory,(void)bytes;
#ifdef OX_USE_LIBURING
struct iovec one;
if(!reader->uses_uring)return;
if(reader->buffer)(void)io_uring_unregister_buffers(&reader->uring);
reader->buffer=NULL;
one.iov_base=memory;
one.iov_len=bytes;
if(!memory||bytes>(size_t)1<<30||io_uring_register_buffers(&reader->uring,&one,1)!=0)return;
reader->buffer=memory;
reader->buffer_bytes=bytes;
#endif
}
static void oxi_reader_know_file(oxi_stream_reader*reader,oxi_stream_file*file){
(void)reader,(void)file;
#ifdef OX_USE_LIBURING
if(!reader->uses_uring|| !reader->knows_files)return;
oxi_uring_know_handle(reader,file->plain,&file->slot[0]);
oxi_uring_know_handle(reader,file->direct,&file->slot[1]);
#endif
}
static void oxi_reader_forget_file(oxi_stream_reader*reader,oxi_stream_file*file){
(void)reader,(void)file;
#ifdef OX_USE_LIBURING
for(int i=0;i<2;i++)oxi_uring_forget_handle(reader,&file->slot[i]);
#endif
}
static void oxi_reader_submit(oxi_stream_reader*reader,oxi_stream_request*r){
reader->flying++;
#ifdef OX_USE_LIBURING
if(reader->uses_uring){
oxi_queue_put(&reader->waiting,r);
oxi_uring_feed(reader);
return;}
#endif
#ifndef OX_NO_THREADS
if(reader->thread_count>0){
oxi_mutex_take(&reader->mutex);
oxi_queue_put(&reader->waiting,r);
oxi_condition_wake(&reader->work);
oxi_mutex_give(&reader->mutex);
return;}
#endif
oxi_request_execute(reader,r);
oxi_queue_put(&reader->finished,r);}
static oxi_stream_request*oxi_reader_take(oxi_stream_reader*reader,bool sleep){
oxi_stream_request*r;
if(reader->flying==0)return NULL;
#ifdef OX_USE_LIBURING
if(reader->uses_uring&& !reader->finished.first)oxi_uring_reap(reader,sleep);
#endif
#ifndef OX_NO_THREADS
if(reader->thread_count>0){
oxi_mutex_take(&reader->mutex);
while(!reader->finished.first&&sleep)oxi_condition_wait(&reader->ready,&reader->mutex);
r=oxi_queue_take(&reader->finished);
oxi_mutex_give(&reader->mutex);
reader->flying-=r!=NULL;
return r;}
#endif
(void)sleep;
r=oxi_queue_take(&reader->finished);
reader->flying-=r!=NULL;
return r;}
/* >>stream/ring/range_cache.c */
enum{
OXI_SLAB_BYTES=64<<20,OXI_KEPT_PATIENCE=8};
static oxi_stream_range**oxi_range_bucket(ox_stream*stream,const oxi_stream_file*file,uint64_t offset){
uint64_t hash=(offset^(uint64_t)(uintptr_t)file)*0x9E3779B97F4A7C15u;
return&stream->buckets[hash>>52];}
static oxi_stream_range*oxi_range_find(ox_stream*stream,oxi_stream_file*file,uint64_t offset,size_t bytes){
oxi_stream_range*range= *oxi_range_bucket(stream,file,offset);
while(range&&(range->file!=file||range->offset!=offset||range->bytes!=bytes))
range=range->chain;
return range;}
static oxi_stream_range*oxi_range_of(ox_stream*stream,oxi_stream_file*file,uint64_t offset,size_t bytes){
oxi_stream_range*range=oxi_range_find(stream,file,offset,bytes);
if(range||stream->range_count>=OXI_STREAM_RANGES_MOST)return range;
range=(oxi_stream_range*)oxi_try_alloc(sizeof*range);
if(!range)return NULL;
oxi_stream_range**bucket=oxi_range_bucket(stream,file,offset);
memset(range,0,sizeof*range);
range->file=file;
range->offset=offset;
range->bytes=bytes;
range->chain= *bucket;
*bucket=range;
stream->range_count++;
return range;}
static void oxi_range_touch(ox_stream*stream,oxi_stream_range*range){
if(stream->last)stream->last->successor=range;
stream->last=range;
stream->past[stream->past_count++ %OXI_STREAM_PAST]=range;
stream->clock+=range->bytes;
range->used_at=stream->clock;
if(range->slab)range->slab->used_at=stream->clock;}
static size_t oxi_budget_left(ox_stream*stream,size_t wanted){
ox_memory_stats now=ox_memory_get_stats();
size_t held=now.bytes_in_use +now.bytes_cached,budget=stream->desc.ram_bytes;
size_t limit=stream->base_bytes+budget-budget/16;
bool full=held>=limit||limit-held<wanted;
bool helps=now.bytes_in_use<limit&&limit-now.bytes_in_use>=wanted;
if(full&&(helps||held>=limit)&&now.bytes_cached>0){
ox_trim();
held=ox_memory_get_stats().bytes_in_use;}
return held<limit?limit-held:0;}
static bool oxi_range_is_idle(const oxi_stream_range*range){
return range->users==0&&range->load.pending==0;}
static void oxi_range_drop(oxi_stream_range*range){
range->memory=NULL;
range->slab=NULL;
range->guessed=false;}
static bool oxi_slab_free(ox_stream*stream,oxi_stream_slab*slab){
for(int pass=0;pass<2;pass++)
for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range*range=stream->buckets[i];range;range=range->chain){
if(range->slab!=slab)continue;
if(pass==0&& !oxi_range_is_idle(range))return false;
if(pass==1)oxi_range_drop(range);}
for(oxi_stream_slab**link= &stream->slabs;*link;link= &(*link)->next)
if(*link==slab){
*link=slab->next;
break;}
stream->slab_bytes-=slab->bytes;
oxi_free(slab->block,slab->bytes);
oxi_free(slab,sizeof*slab);
ox_trim();
return true;}
static void oxi_capacitor_yield(ox_stream*stream,size_t wanted){
while(stream->slabs&&oxi_budget_left(stream,wanted)<wanted)
if(!oxi_slab_free(stream,stream->slabs))return;}
static void oxi_slab_touch_some(void*arg,int64_t index,int lane){
const oxi_stream_slab*slab=(const oxi_stream_slab*)arg;
size_t at=slab->touched+(size_t)index*OXI_HUGE_PAGE,end=at+OXI_HUGE_PAGE;
if(end>slab->bytes)end=slab->bytes;
(void)lane;
for(;at<end;at+=OXI_STREAM_PAGE)*(volatile char*)(slab->block+at)=0;}
static void oxi_slab_touch(oxi_stream_slab*slab,size_t end){
if(end<=slab->touched)return;
size_t pages=(end-slab->touched+OXI_HUGE_PAGE -1)/OXI_HUGE_PAGE;
oxi_parallel_for((int64_t)pages,oxi_slab_touch_some,slab);
slab->touched+=pages*OXI_HUGE_PAGE;}
static oxi_stream_slab*oxi_slab_new(ox_stream*stream,size_t need){
size_t left=oxi_budget_left(stream,need),bytes=OXI_SLAB_BYTES;
if(bytes>left/2)bytes=left/2/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
bytes=bytes<need?need:bytes/need*need;
if(bytes>left)return NULL;
oxi_stream_slab*slab=(oxi_stream_slab*)oxi_try_alloc(sizeof*slab);
if(!slab)return NULL;
slab->block=(char*)oxi_try_alloc(bytes);
if(!slab->block){
oxi_free(slab,sizeof*slab);
return NULL;}
slab->bytes=bytes;
slab->used=slab->touched=0;
slab->used_at=stream->clock;
slab->next=stream->slabs;
stream->slabs=slab;
stream->slab_bytes+=bytes;
return slab;}
static oxi_stream_slab*oxi_slab_with_room(ox_stream*stream,size_t need){
uint64_t patience=(uint64_t)OXI_KEPT_PATIENCE*stream->desc.ram_bytes;
for(oxi_stream_slab*slab=stream->slabs;slab;slab=slab->next)
if(slab->bytes-slab->used>=need)return slab;
oxi_stream_slab*fresh=oxi_slab_new(stream,need);
for(oxi_stream_slab*slab=stream->slabs,*next;slab&& !fresh;slab=next){
next=slab->next;
if(stream->clock-slab->used_at>patience&&oxi_slab_free(stream,slab))
fresh=oxi_slab_new(stream,need);}
return fresh;}
static bool oxi_capacitor_accept(ox_stream*stream,oxi_stream_range*range){
if(stream->desc.forgetful)return false;
oxi_stream_slab*slab=oxi_slab_with_room(stream,range->bytes+3*OXI_STREAM_PAGE);
if(!slab)return false;
uintptr_t at=(uintptr_t)slab->block+slab->used;
at=(at+OXI_STREAM_PAGE -1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
range->memory=(char*)at+range->offset%OXI_STREAM_PAGE;
range->slab=slab;
at=(uintptr_t)range->memory+range->bytes;
at=(at+OXI_STREAM_PAGE -1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
slab->used=(size_t)(at-(uintptr_t)slab->block);
oxi_slab_touch(slab,slab->used);
return true;}
static bool oxi_slab_is_empty(ox_stream*stream,const oxi_stream_slab*slab){
for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range*range=stream->buckets[i];range;range=range->chain)
if(range->slab==slab)return false;
return true;}
static void oxi_capacitor_forget_file(ox_stream*stream,const oxi_stream_file*file){
for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range*range=stream->buckets[i];range;range=range->chain)
if(range->successor&&(!file||range->successor->file==file))range->successor=NULL;
if(stream->last&&(!file||stream->last->file==file))stream->last=NULL;
stream->past_count=0;
for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range**link= &stream->buckets[i];*link;){
oxi_stream_range*range= *link;
if(file&&range->file!=file){
link= &range->chain;
continue;}
*link=range->chain;
stream->range_count--;
oxi_free(range,sizeof*range);}
for(oxi_stream_slab*slab=stream->slabs,*next;slab;slab=next){
next=slab->next;
if(oxi_slab_is_empty(stream,slab))(void)oxi_slab_free(stream,slab);}}
static void oxi_capacitor_close(ox_stream*stream){
oxi_capacitor_forget_file(stream,NULL);}
/* >>stream/file/checksum.c */
static uint64_t oxi_sum_of(const char*data,size_t bytes){
const uint64_t odd=0x9E3779B97F4A7C15u;
uint64_t sum[4]={1,2,3,4},word;
size_t at=0;
for(;at+32<=bytes;at+=32)
for(int i=0;i<4;i++){
memcpy(&word,data+at+8*(size_t)i,8);
sum[i]=((sum[i]<<29|sum[i]>>35)^word)*odd;}
for(;at<bytes;at++){
uint64_t*one= &sum[at%4];
*one=((*one<<29| *one>>35)^(uint8_t)data[at])*odd;}
return sum[0]^sum[1]*odd^(sum[2]<<17|sum[2]>>47)^sum[3]*(odd<<1|1)^bytes;}
static ox_status oxi_sum_fail(const oxi_stream_file*file,uint64_t offset,size_t bytes,const char*what){
return oxi_fail(OX_ERR_IO,"%s: offset %llu: %llu bytes are not those that were %s",
 oxi_path_text(file->path),(unsigned long long)offset,(unsigned long long)bytes,what);}
typedef bool(*oxi_page_fn)(uint32_t*known,const char*data,size_t bytes);
static bool oxi_region_visit(const oxi_stream_region*region,uint64_t from,const char*data,size_t bytes,
 oxi_page_fn visit,uint64_t*at){
uint64_t end=from+bytes,page=from/OXI_STREAM_PAGE;
for(;page*OXI_STREAM_PAGE<end;page++){
uint64_t first=page*OXI_STREAM_PAGE,last=first+OXI_STREAM_PAGE;
if(last>region->bytes)last=region->bytes;
bool whole=first>=from&&last<=end;
*at=first;
if(!visit(&region->sums[page],whole?data+(first-from):NULL,(size_t)(last-first)))
return false;}
return true;}
static uint32_t oxi_page_sum(const char*data,size_t bytes){
uint64_t sum=oxi_sum_of(data,bytes);
uint32_t folded=(uint32_t)(sum^sum>>32);
return folded?folded:1;}
static bool oxi_page_note(uint32_t*known,const char*data,size_t bytes){
*known=data?oxi_page_sum(data,bytes):0;
return true;}
static bool oxi_page_check(uint32_t*known,const char*data,size_t bytes){
return!data|| *known==0|| *known==oxi_page_sum(data,bytes);}
static void oxi_region_note(const oxi_stream_region*region,uint64_t from,const char*data,size_t bytes){
uint64_t at;
if(region->sums)(void)oxi_region_visit(region,from,data,bytes,oxi_page_note,&at);}
static ox_status oxi_region_check(const oxi_stream_region*region,uint64_t from,const char*data,
 size_t bytes){
uint64_t at;
if(!region->sums||oxi_region_visit(region,from,data,bytes,oxi_page_check,&at))return OX_OK;
return oxi_sum_fail(region->file,region->offset+at,OXI_STREAM_PAGE,"written here");}
static ox_status oxi_range_check(ox_stream*stream,const oxi_stream_source*source){
oxi_stream_range*range=source->range?source->range:source->cell?source->cell->range:NULL;
if(!stream->desc.checksums|| !range)return OX_OK;
bool*checked=source->range? &range->checked: &source->cell->checked;
if(*checked)return OX_OK;
uint64_t sum=oxi_sum_of(source->data,range->bytes);
if(range->has_sum&&range->sum!=sum){
if(source->range)range->load.cause=EIO;
return oxi_sum_fail(range->file,range->offset,range->bytes,"read here before");}
range->sum=sum;
range->has_sum= *checked=true;
return OX_OK;}
/* >>stream/ring/guess_next.c */
enum{OXI_CONTEXT_LEAST=2,OXI_CONTEXT_MOST=32};
static oxi_stream_range*oxi_past_at(const ox_stream*stream,int64_t index){
return stream->past[index%OXI_STREAM_PAST];}
static int oxi_past_context(const ox_stream*stream,int64_t a,int64_t b,int64_t first){
int count=0;
for(;count<OXI_CONTEXT_MOST&&a>=first;count++,a--,b--){
const oxi_stream_range*x=oxi_past_at(stream,a),*y=oxi_past_at(stream,b);
if(x->file!=y->file||x->bytes!=y->bytes)break;
if(count==0)continue;
const oxi_stream_range*x_next=oxi_past_at(stream,a+1),*y_next=oxi_past_at(stream,b+1);
if(x_next->offset-x->offset!=y_next->offset-y->offset)break;}
return count;}
static int64_t oxi_past_twin(const ox_stream*stream){
int64_t last=stream->past_count-1,first=last<OXI_STREAM_PAST?0:last-OXI_STREAM_PAST+1;
int64_t twin= -1;
int most=OXI_CONTEXT_LEAST-1;
for(int64_t i=last-1;i>=first&&most<OXI_CONTEXT_MOST;i--){
int context=oxi_past_context(stream,i,last,first);
if(context<=most)continue;
most=context;
twin=i;}
return twin;}
static bool oxi_region_holds(const oxi_stream_region*region,uint64_t offset,size_t bytes){
return offset>=region->offset&&offset-region->offset<=region->bytes&&
 bytes<=region->bytes-(size_t)(offset-region->offset);}
static bool oxi_range_may_follow(const oxi_stream_range*known,uint64_t shift){
uint64_t offset=known->offset+shift;
for(const oxi_stream_region*from=known->file->regions;from;from=from->next){
if(!oxi_region_holds(from,known->offset,known->bytes))continue;
if(oxi_region_holds(from,offset,known->bytes))return true;
for(const oxi_stream_region*to=known->file->regions;to;to=to->next)
if(to->bytes==from->bytes&&to->offset==from->offset+shift)return true;}
return false;}
static int oxi_predict_reads(ox_stream*stream,oxi_stream_range**out,int most){
int64_t last=stream->past_count-1,twin=oxi_past_twin(stream);
if(twin<0)return 0;
int count=0,period=(int)(last-twin);
uint64_t shift=oxi_past_at(stream,last)->offset-oxi_past_at(stream,twin)->offset;
while(count<most){
oxi_stream_range*known=count<period?oxi_past_at(stream,twin+1+count):out[count-period];
if(shift==0||known->file!=stream->last->file|| !oxi_range_may_follow(known,shift))break;
out[count]=oxi_range_of(stream,known->file,known->offset+shift,known->bytes);
if(!out[count])break;
out[count++]->far=known->far;}
return count;}
/* >>stream/ring/ring.c */
enum{OXI_REQUEST_BLOCK=64};
typedef struct oxi_request_block{
struct oxi_request_block*next;
oxi_stream_request request[OXI_REQUEST_BLOCK];}oxi_request_block;
static oxi_stream_request*oxi_request_new(ox_stream*stream){
if(!stream->free_requests){
oxi_request_block*block=(oxi_request_block*)oxi_try_alloc(sizeof*block);
if(!block)return NULL;
block->next=(oxi_request_block*)stream->request_blocks;
stream->request_blocks=block;
for(int i=0;i<OXI_REQUEST_BLOCK;i++){
block->request[i].next=stream->free_requests;
stream->free_requests= &block->request[i];}}
oxi_stream_request*r=stream->free_requests;
stream->free_requests=r->next;
memset(r,0,sizeof*r);
return r;}
static void oxi_load_fail(oxi_stream_load*load,int cause,uint64_t at){
if(load->cause!=0)return;
load->cause=cause;
load->failed_at=at;}
static void oxi_pace_note(ox_stream*stream,const oxi_stream_request*r,double waited){
oxi_stream_pace*pace= &stream->pace;
double took=r->end-r->start;
if(pace->settled||r->write||r->cause!=0||r->bytes<OXI_STREAM_PIECE/2)return;
if(r->alone&&(pace->latency==0||took<pace->latency))pace->latency=took;
pace->bytes+=(int64_t)r->bytes;
pace->seconds+=waited;}
static bool oxi_ring_deliver(ox_stream*stream,bool sleep){
double start=sleep?oxi_now():0;
oxi_stream_request*r=oxi_reader_take(&stream->reader,sleep);
double now=oxi_now();
if(sleep)stream->stats.stall_seconds+=now-start;
if(sleep)oxi_profile_span(OXI_PROFILE_RING,start,now,0);
if(!r)return false;
oxi_profile_span(OXI_PROFILE_DISK,r->start,r->end,(double)r->bytes);
if(sleep)oxi_pace_note(stream,r,now-start);
if(r->cause!=0)
oxi_load_fail(r->load,r->cause,oxi_request_begin(r)+r->done);
else
*(r->write? &stream->stats.written_bytes: &stream->stats.disk_bytes)+=(int64_t)r->bytes;
r->load->pending--;
r->next=stream->free_requests;
stream->free_requests=r;
return true;}
static void oxi_ring_wait_for(ox_stream*stream,const oxi_stream_load*load){
while(load->pending>0&&oxi_ring_deliver(stream,true)){}}
static void oxi_ring_quiet(ox_stream*stream){
while(stream->reader.flying>0&&oxi_ring_deliver(stream,true)){}}
static void oxi_ring_pieces(ox_stream*stream,oxi_stream_load*load,oxi_stream_file*file,uint64_t offset,
 size_t bytes,char*memory,bool write,bool direct){
while(bytes>0){
size_t part=OXI_STREAM_PIECE -(direct?(size_t)(offset%OXI_STREAM_PAGE):0);
oxi_stream_request*r=oxi_request_new(stream);
if(!r){
oxi_load_fail(load,ENOMEM,offset);
return;}
if(part>bytes)part=bytes;
r->load=load;
r->file=file;
r->offset=offset;
r->bytes=part;
r->memory=memory;
r->write=write;
r->direct=direct;
r->start=oxi_now();
r->alone=stream->reader.flying==0;
load->pending++;
oxi_reader_submit(&stream->reader,r);
offset+=part;
memory+=part;
bytes-=part;}}
static void oxi_ring_request(ox_stream*stream,oxi_stream_load*load,oxi_stream_file*file,uint64_t offset,
 size_t bytes,char*memory,bool write,bool direct){
size_t lead=(size_t)((0-offset)%OXI_STREAM_PAGE),whole;
if(write&&direct){
if(lead>bytes)lead=bytes;
whole=(bytes-lead)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
oxi_ring_pieces(stream,load,file,offset,lead,memory,true,false);
oxi_ring_pieces(stream,load,file,offset+lead,whole,memory+lead,true,true);
offset+=lead+whole;
memory+=lead+whole;
bytes-=lead+whole;
direct=false;}
oxi_ring_pieces(stream,load,file,offset,bytes,memory,write,direct);}
static ox_status oxi_ring_fail(const oxi_stream_load*load,const oxi_stream_file*file){
const char*path=oxi_path_text(file->path);
unsigned long long at=(unsigned long long)load->failed_at;
if(load->cause==OXI_STREAM_ENDED)
return oxi_fail(OX_ERR_IO,"%s: offset %llu: the file ends here; it became shorter",path,at);
if(load->cause==ENOMEM)return oxi_fail(OX_ERR_NOMEM,"%s: offset %llu: no memory",path,at);
return oxi_fail(OX_ERR_IO,"%s: offset %llu: %s",path,at,strerror(load->cause));}
static void oxi_ring_free_cells(ox_stream*stream){
oxi_ring_quiet(stream);
oxi_reader_know_memory(&stream->reader,NULL,0);
oxi_unpin_memory(&stream->ring_pin);
oxi_free(stream->cells,(size_t)stream->cell_record_room*sizeof*stream->cells);
oxi_free(stream->ring_block,stream->ring_block_bytes);
stream->cells=NULL;
stream->ring_block=NULL;
stream->ring_block_bytes=0;
stream->cell_count=stream->cell_record_room=0;}
static ox_status oxi_ring_make_cells(ox_stream*stream,int count,size_t bytes){
size_t room=(bytes+3*OXI_STREAM_PAGE -1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE,all=0;
oxi_ring_free_cells(stream);
if(!oxi_mul_size(room,(size_t)count,&all)||all>SIZE_MAX/4)return OX_ERR_NOMEM;
stream->cell_record_room=count;
stream->ring_block_bytes=all+OXI_STREAM_PAGE;
stream->cells=(oxi_stream_cell*)oxi_calloc((size_t)count,sizeof*stream->cells);
stream->ring_block=stream->cells?(char*)oxi_alloc(stream->ring_block_bytes):NULL;
if(!stream->ring_block){
stream->ring_block_bytes=0;
oxi_ring_free_cells(stream);
return OX_ERR_NOMEM;}
uintptr_t start=((uintptr_t)stream->ring_block+OXI_STREAM_PAGE -1)/OXI_STREAM_PAGE;
for(int i=0;i<count;i++)
stream->cells[i].memory=(char*)(start*OXI_STREAM_PAGE)+(size_t)i*room;
stream->cell_room=room;
stream->cell_count=count;
oxi_reader_know_memory(&stream->reader,stream->ring_block,stream->ring_block_bytes);
return OX_OK;}
static void oxi_ring_pin(ox_stream*stream,oxi_stream_flow*flow){
oxi_pinned_memory*pin= &stream->ring_pin;
size_t bytes=(size_t)stream->cell_count*stream->cell_room;
char*cells=stream->cells[0].memory;
if(pin->device!=flow->device){
oxi_unpin_memory(pin);
(void)oxi_pin_memory(flow->device,cells,bytes,pin);}
flow->pinned=pin->handle?cells:NULL;
flow->pinned_bytes=bytes;}
static ox_status oxi_ring_open(ox_stream*stream){
size_t bytes=stream->desc.tile_bytes-2*OXI_STREAM_PAGE;
return oxi_ring_make_cells(stream,2*stream->desc.depth,bytes);}
static ox_status oxi_ring_fit(ox_stream*stream,const oxi_stream_flow*flow){
size_t usual=stream->desc.tile_bytes,room=flow->cell_bytes+2*OXI_STREAM_PAGE,all=0;
bool fits=stream->cell_room>=room&&stream->cell_count>=flow->cells;
if(fits&&(stream->cell_room<=usual||room>usual))return OX_OK;
int count=flow->cells;
if(room<=usual){
if(count<2*stream->desc.depth)count=2*stream->desc.depth;
room=usual;}
if(!oxi_mul_size(room,(size_t)count,&all)||all>stream->desc.ram_bytes)
return oxi_fail(OX_ERR_NOMEM,"%llu bytes cannot be cut into tiles, and the stream's RAM budget is %llu",
 (unsigned long long)all,(unsigned long long)stream->desc.ram_bytes);
oxi_ring_free_cells(stream);
oxi_capacitor_yield(stream,all);
return oxi_ring_make_cells(stream,count,room-2*OXI_STREAM_PAGE);}
static ox_status oxi_ring_settle(ox_stream*stream){
enum{TILES=2};
const double tile_seconds=0.016;
const size_t page=OXI_STREAM_PAGE,mib=(size_t)1<<20;
oxi_stream_pace*pace= &stream->pace;
ox_stream_desc*desc= &stream->desc;
if(pace->settled||pace->bytes<(int64_t)(TILES*desc->tile_bytes))return OX_OK;
oxi_ring_forget(stream);
pace->settled=true;
pace->bandwidth=(double)pace->bytes/(pace->seconds>1e-6?pace->seconds:1e-6);
if(!pace->sets_tile&& !pace->sets_depth)return OX_OK;
double seconds=2*pace->latency>tile_seconds?2*pace->latency:tile_seconds;
size_t ring=desc->ram_bytes/32*3>64*mib?desc->ram_bytes/32*3:64*mib;
if(ring>desc->ram_bytes/3)ring=desc->ram_bytes/3;
double wanted=pace->bandwidth*seconds,most=(double)(ring/(2*OXI_STREAM_LEAST_DEPTH));
if(wanted>16.0*(double)mib)wanted=16.0*(double)mib;
if(wanted<4.0*(double)mib)wanted=4.0*(double)mib;
if(wanted>most)wanted=most;
size_t tile=pace->sets_tile?((size_t)wanted+page -1)/page*page:desc->tile_bytes;
if(tile<4*page||(tile>desc->tile_bytes/4*3&&tile<desc->tile_bytes/3*4))
tile=desc->tile_bytes;
int depth=2+(int)(2*pace->bandwidth*pace->latency/(double)tile);
if(depth<OXI_STREAM_LEAST_DEPTH+1)depth=OXI_STREAM_LEAST_DEPTH+1;
while(depth>OXI_STREAM_LEAST_DEPTH&&(depth>OXI_STREAM_WINDOW||2*(size_t)depth*tile>ring))
depth--;
if(pace->sets_depth)desc->depth=depth;
if(tile!=desc->tile_bytes)oxi_capacitor_forget_file(stream,NULL);
desc->tile_bytes=tile;
oxi_ring_free_cells(stream);
oxi_capacitor_yield(stream,2*(size_t)desc->depth*tile);
return oxi_ring_open(stream);}
static void oxi_ring_forget(ox_stream*stream){
oxi_ring_quiet(stream);
for(int i=0;i<stream->cell_count;i++){
stream->cells[i].range=NULL;
stream->cells[i].guessed=false;}}
static bool oxi_cell_is_idle(const oxi_stream_cell*cell){
return cell->users==0&&cell->load.pending==0;}
static oxi_stream_cell*oxi_ring_idle_cell(ox_stream*stream,bool empty){
oxi_stream_cell*found=NULL;
for(int i=0;i<stream->cell_count;i++){
oxi_stream_cell*cell= &stream->cells[i];
if(!oxi_cell_is_idle(cell))continue;
if(!cell->range)return cell;
if(!empty)found=cell;}
return found;}
static oxi_stream_cell*oxi_ring_cell_of(ox_stream*stream,const oxi_stream_range*range){
for(int i=0;i<stream->cell_count;i++){
oxi_stream_cell*cell= &stream->cells[i];
if(cell->range==range&&cell->load.cause==0)return cell;}
return NULL;}
static void oxi_cell_settle(ox_stream*stream,oxi_stream_cell*cell){
if(cell->storing&&cell->load.cause!=0)
oxi_load_fail(&stream->stores,cell->load.cause,cell->load.failed_at);
cell->storing=false;
cell->load.cause=0;}
static oxi_stream_cell*oxi_ring_take_cell(ox_stream*stream,bool must){
oxi_stream_cell*cell;
while(!(cell=oxi_ring_idle_cell(stream,false)))
if(!must|| !oxi_ring_deliver(stream,true))return NULL;
oxi_cell_settle(stream,cell);
cell->range=NULL;
cell->guessed=false;
return cell;}
static bool oxi_range_may_be_kept(const oxi_stream_range*range){
return range->used_at>0|| !range->far;}
static void oxi_ring_read(ox_stream*stream,const oxi_stream_range*range,oxi_stream_load*load,char*memory){
load->cause=0;
load->flow=stream->flow;
oxi_ring_request(stream,load,range->file,range->offset,range->bytes,memory,false,range->file->direct>=0);}
static bool oxi_ring_keep(ox_stream*stream,oxi_stream_range*range){
if(!oxi_range_may_be_kept(range)|| !oxi_range_is_idle(range))return false;
if(!oxi_capacitor_accept(stream,range))return false;
range->checked=false;
oxi_ring_read(stream,range,&range->load,range->memory);
return true;}
static void oxi_ring_fill(ox_stream*stream,oxi_stream_range*range,oxi_stream_cell*cell){
oxi_cell_settle(stream,cell);
cell->range=range;
cell->checked=cell->guessed=false;
oxi_ring_read(stream,range,&cell->load,cell->memory+range->offset%OXI_STREAM_PAGE);}
static bool oxi_ring_get(ox_stream*stream,oxi_stream_range*range,oxi_stream_source*source,bool must){
range->far=source->region->bytes>stream->desc.ram_bytes;
if(range->memory&&range->load.cause!=0&&oxi_range_is_idle(range))oxi_range_drop(range);
oxi_stream_cell*cell=range->memory?NULL:oxi_ring_cell_of(stream,range);
if(range->memory){
if(!range->guessed)stream->stats.ram_bytes+=(int64_t)range->bytes;
range->guessed=false;}else if(!cell&& !oxi_ring_keep(stream,range)){
cell=oxi_ring_take_cell(stream,must);
if(!cell)return false;
oxi_ring_fill(stream,range,cell);}
oxi_range_touch(stream,range);
if(cell)cell->guessed=false;
if(range->memory){
source->range=range;
source->data=range->memory;
range->users++;}else{
source->cell=cell;
source->data=cell->memory+range->offset%OXI_STREAM_PAGE;
cell->users++;}
return true;}
static bool oxi_ring_read_ahead(ox_stream*stream,oxi_stream_range*range){
if(range->memory||oxi_ring_cell_of(stream,range))return true;
if(oxi_ring_keep(stream,range)){
range->guessed=true;}else{
oxi_stream_cell*cell=oxi_ring_idle_cell(stream,true);
if(!cell||cell->range||range->bytes+2*OXI_STREAM_PAGE>stream->cell_room)return false;
oxi_ring_fill(stream,range,cell);
cell->guessed=true;}
stream->stats.guesses++;
return true;}
static void oxi_ring_guess(ox_stream*stream){
enum{HOPS_MOST=1<<14};
oxi_stream_range*range=stream->last,*likely[OXI_STREAM_WINDOW];
if(range&& !range->successor){
int count=oxi_predict_reads(stream,likely,stream->desc.depth);
for(int i=0;i<count&&oxi_ring_read_ahead(stream,likely[i]);i++){}
return;}
for(int hop=0;range&&hop<HOPS_MOST;hop++){
range=range->successor;
if(!range||range==stream->last|| !oxi_ring_read_ahead(stream,range))return;}}
static int64_t oxi_ring_ahead(const ox_stream*stream){
int64_t bytes=0;
for(int i=0;i<stream->cell_count;i++)
if(stream->cells[i].guessed&&stream->cells[i].load.pending==0)
bytes+=(int64_t)stream->cells[i].range->bytes;
for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(const oxi_stream_range*range=stream->buckets[i];range;range=range->chain)
if(range->guessed&&range->load.pending==0)bytes+=(int64_t)range->bytes;
return bytes;}
static oxi_stream_load*oxi_source_load(const oxi_stream_source*source){
return source->range? &source->range->load:source->cell? &source->cell->load:NULL;}
static void oxi_source_release(oxi_stream_source*source){
if(source->range)source->range->users--;
if(source->cell){
source->cell->users--;
if(source->cell->users==0&&source->cell->load.pending==0)source->cell->range=NULL;}
source->range=NULL;
source->cell=NULL;}
static void oxi_step_release(oxi_stream_step*step){
for(int i=0;i<OXI_STREAM_OPERANDS;i++)oxi_source_release(&step->source[i]);}
static bool oxi_same_source(const oxi_stream_source*a,const oxi_stream_source*b){
const oxi_stream_layout*x= &a->layout,*y= &b->layout;
return a->use==OXI_STREAM_LOAD&&b->use==OXI_STREAM_LOAD&&a->region==b->region&&b->data&&
 x->first==y->first&&x->bytes==y->bytes&&x->run==y->run&&x->loops==y->loops&&
 memcmp(x->count,y->count,sizeof x->count)==0&&memcmp(x->step,y->step,sizeof x->step)==0;}
typedef void(*oxi_run_fn)(void*user,uint64_t from,size_t at,size_t bytes);
static void oxi_layout_runs(const oxi_stream_layout*layout,oxi_run_fn visit,void*user){
int64_t index[OX_MAX_DIMS]={0};
uint64_t from=layout->first;
size_t at=0;
for(;;){
visit(user,from,at,layout->run);
at+=layout->run;
int d=layout->loops-1;
for(;d>=0;d--){
from+=(uint64_t)layout->step[d];
if(++index[d]<layout->count[d])break;
from-=(uint64_t)(layout->step[d]*layout->count[d]);
index[d]=0;}
if(d<0)return;}}
typedef struct oxi_source_pages{
const oxi_stream_source*source;
ox_status status;}oxi_source_pages;
static void oxi_run_note(void*user,uint64_t from,size_t at,size_t bytes){
const oxi_stream_source*source=((const oxi_source_pages*)user)->source;
oxi_region_note(source->region,from,source->data+at,bytes);}
static void oxi_run_check(void*user,uint64_t from,size_t at,size_t bytes){
oxi_source_pages*pages=(oxi_source_pages*)user;
const oxi_stream_source*source=pages->source;
if(pages->status==OX_OK)
pages->status=oxi_region_check(source->region,from,source->data+at,bytes);}
static ox_status oxi_source_check(ox_stream*stream,const oxi_stream_source*source){
oxi_source_pages pages={source,oxi_range_check(stream,source)};
if(pages.status==OX_OK&&source->region->sums)
oxi_layout_runs(&source->layout,oxi_run_check,&pages);
return pages.status;}
typedef struct oxi_run_job{
ox_stream*stream;
const oxi_stream_region*region;
oxi_stream_load*load;
char*data;
bool write,direct;}oxi_run_job;
static void oxi_run_request(void*user,uint64_t from,size_t at,size_t bytes){
const oxi_run_job*job=(const oxi_run_job*)user;
oxi_ring_request(job->stream,job->load,job->region->file,job->region->offset+from,bytes,
 job->data+at,job->write,job->direct);}
static bool oxi_source_is_direct(const oxi_stream_source*source){
return source->region->file->writable&&source->region->file->direct>=0&&source->layout.loops==0;}
static void oxi_source_transfer(ox_stream*stream,oxi_stream_source*source,oxi_stream_load*load,bool write){
oxi_run_job job;
job.stream=stream;
job.region=source->region;
job.load=load;
job.data=source->data;
job.write=write;
job.direct=oxi_source_is_direct(source);
oxi_layout_runs(&source->layout,oxi_run_request,&job);}
static bool oxi_source_is_range(const oxi_stream_source*source){
const oxi_stream_layout*layout= &source->layout;
return source->use==OXI_STREAM_LOAD&& !source->region->file->writable&&layout->loops==0&&
 source->region->offset%(uint64_t)layout->align==0;}
static bool oxi_source_begin(ox_stream*stream,const oxi_stream_flow*flow,oxi_stream_source*source,
 const oxi_stream_source*before,bool must){
if(before&&oxi_same_source(source,before)){
source->cell=before->cell;
source->range=before->range;
source->data=before->data;
if(source->cell)source->cell->users++;
if(source->range)source->range->users++;
return true;}
if(oxi_source_is_range(source)&& !flow->unlearned){
oxi_stream_range*range=
 oxi_range_of(stream,source->region->file,source->region->offset+source->layout.first,
 source->layout.bytes);
if(range)return oxi_ring_get(stream,range,source,must);}
source->cell=oxi_ring_take_cell(stream,must);
if(!source->cell)return false;
source->cell->users++;
source->data=source->cell->memory;
if(oxi_source_is_direct(source))
source->data+=(source->region->offset+source->layout.first)%OXI_STREAM_PAGE;
if(source->use&OXI_STREAM_LOAD)oxi_source_transfer(stream,source,&source->cell->load,false);
return true;}
static bool oxi_step_begin(ox_stream*stream,const oxi_stream_flow*flow,oxi_stream_step*step,
 const oxi_stream_step*before,bool must){
step->wanted=step->ready=0;
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
oxi_stream_source*source= &step->source[i];
if(source->use==OXI_STREAM_UNUSED||source->layout.bytes==0)continue;
if(!oxi_source_begin(stream,flow,source,before? &before->source[i]:NULL,must)){
oxi_step_release(step);
return false;}
if(source->use&OXI_STREAM_LOAD)step->wanted|=1u<<i;}
return true;}
static const oxi_stream_load*oxi_source_wait(ox_stream*stream,const oxi_stream_source*source){
oxi_stream_range*range=source->range?source->range:source->cell->range;
oxi_stream_load*load=oxi_source_load(source);
oxi_ring_wait_for(stream,load);
if(load->cause==0|| !range||load->flow==stream->flow)return load;
oxi_ring_read(stream,range,load,source->data);
oxi_ring_wait_for(stream,load);
return load;}
static ox_status oxi_step_wait(ox_stream*stream,oxi_stream_step*step){
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(!(step->wanted>>i&1))continue;
const oxi_stream_load*load=oxi_source_wait(stream,&step->source[i]);
if(load->cause!=0)return oxi_ring_fail(load,step->source[i].region->file);
ox_status status=oxi_source_check(stream,&step->source[i]);
if(status!=OX_OK)return status;
step->ready|=1u<<i;}
return OX_OK;}
static void oxi_step_store(ox_stream*stream,oxi_stream_step*step){
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
oxi_stream_source*source= &step->source[i];
if(!(source->use&OXI_STREAM_STORE)|| !source->cell)continue;
source->cell->storing=true;
oxi_source_pages pages={source,OX_OK};
if(source->region->sums)oxi_layout_runs(&source->layout,oxi_run_note,&pages);
oxi_source_transfer(stream,source,&source->cell->load,true);}}
static ox_status oxi_ring_finish_stores(ox_stream*stream,const oxi_stream_file*file){
for(int i=0;i<stream->cell_count;i++){
oxi_stream_cell*cell= &stream->cells[i];
if(!cell->storing)continue;
oxi_ring_wait_for(stream,&cell->load);
oxi_cell_settle(stream,cell);}
ox_status status=stream->stores.cause!=0?oxi_ring_fail(&stream->stores,file):OX_OK;
stream->stores.cause=0;
return status;}
typedef struct oxi_flow_run{
ox_stream*stream;
oxi_stream_flow*flow;
int64_t head,tail;
const oxi_stream_file*stores;}oxi_flow_run;
static oxi_stream_step*oxi_flow_step(const oxi_flow_run*run,int64_t index){
return&run->stream->steps[index%OXI_STREAM_WINDOW];}
static ox_status oxi_flow_advance(oxi_flow_run*run){
int window=run->flow->window>0?run->flow->window:run->stream->desc.depth;
while(run->head<run->flow->count&&run->head-run->tail<window){
oxi_stream_step*step=oxi_flow_step(run,run->head);
bool must=run->head==run->tail;
memset(step,0,sizeof*step);
ox_status status=run->flow->prepare(run->flow,run->head,step);
if(status!=OX_OK)return status;
const oxi_stream_step*before=must?NULL:oxi_flow_step(run,run->head-1);
if(!oxi_step_begin(run->stream,run->flow,step,before,must)){
return must?oxi_fail(OX_ERR_NOMEM,"the stream's ring has too few cells"):OX_OK;}
run->head++;}
if(run->head<run->flow->count)return OX_OK;
if(!run->flow->unlearned)oxi_ring_guess(run->stream);
return OX_OK;}
static ox_status oxi_flow_compute(oxi_flow_run*run){
ox_stream*stream=run->stream;
oxi_stream_step*step=oxi_flow_step(run,run->tail);
ox_status status=oxi_step_wait(stream,step);
double start=oxi_now();
if(status==OX_OK)status=run->flow->compute(run->flow,run->tail,step);
double end=oxi_now();
stream->stats.compute_seconds+=end-start;
oxi_profile_span(OXI_PROFILE_COMPUTE,start,end,0);
if(status==OX_OK)oxi_step_store(stream,step);
for(int i=0;i<OXI_STREAM_OPERANDS;i++)
if(step->source[i].use&OXI_STREAM_STORE)run->stores=step->source[i].region->file;
if(run->flow->window==1&&run->stores&&status==OX_OK)
status=oxi_ring_finish_stores(stream,run->stores);
oxi_step_release(step);
run->tail++;
stream->stats.tiles++;
if(stream->desc.progress)
stream->desc.progress(stream->desc.progress_user,run->tail,run->flow->count,(int64_t)stream->clock);
return status;}
static ox_status oxi_flow_run_all(ox_stream*stream,oxi_stream_flow*flow){
double start=oxi_now();
oxi_flow_run run;
memset(&run,0,sizeof run);
run.stream=stream;
run.flow=flow;
stream->flow++;
ox_status status=oxi_ring_fit(stream,flow);
if(status==OX_OK&&flow->device)oxi_ring_pin(stream,flow);
while(status==OX_OK&&run.tail<flow->count){
status=oxi_flow_advance(&run);
if(status==OX_OK)status=oxi_flow_compute(&run);}
for(;run.tail<run.head;run.tail++)oxi_step_release(oxi_flow_step(&run,run.tail));
if(run.stores){
ox_status stored=oxi_ring_finish_stores(stream,run.stores);
if(status==OX_OK)status=stored;
if(run.stores->direct>=0)oxi_stream_handle_settle(run.stores->plain);}
stream->busy_seconds+=oxi_now()-start;
return status;}
/* >>stream/ops/tile.c */
typedef struct oxi_layout_dim{
int dim;
int64_t count,step;}oxi_layout_dim;
static int oxi_layout_dims(const ox_tensor*t,oxi_layout_dim*out){
int n=0;
for(int d=0;d<t->ndim;d++){
oxi_layout_dim one;
one.dim=d;
one.count=t->shape[d];
one.step=llabs(t->stride[d]);
if(one.count==1||one.step==0)continue;
int at=n++;
for(;at>0&&out[at-1].step<one.step;at--)out[at]=out[at-1];
out[at]=one;}
return n;}
static int64_t oxi_block_count(ox_dtype dtype,int64_t elements){
return elements/oxi_info(dtype)->block_elements;}
static void oxi_layout_span(const ox_tensor*t,int64_t low,int64_t span,oxi_stream_layout*out){
size_t block=(size_t)oxi_info(t->dtype)->block_bytes;
out->first=oxi_byte_offset(t->dtype,low);
out->bytes=out->run=(size_t)oxi_block_count(t->dtype,span)*block;
out->loops=0;
out->offset=t->offset-low;
memcpy(out->stride,t->stride,sizeof out->stride);}
static void oxi_layout_pack(const ox_tensor*t,int64_t low,int64_t run,const oxi_layout_dim*dims,
 int loops,int all,oxi_stream_layout*out){
size_t block=(size_t)oxi_info(t->dtype)->block_bytes;
out->first=oxi_byte_offset(t->dtype,low);
out->run=(size_t)oxi_block_count(t->dtype,run)*block;
out->loops=loops;
memset(out->stride,0,sizeof out->stride);
for(int j=loops;j<all;j++)out->stride[dims[j].dim]=dims[j].step;
int64_t packed=run;
out->bytes=out->run;
for(int j=loops-1;j>=0;j--){
out->count[j]=dims[j].count;
out->step[j]=oxi_block_count(t->dtype,dims[j].step)*(int64_t)block;
out->stride[dims[j].dim]=packed;
packed*=dims[j].count;
out->bytes*=(size_t)dims[j].count;}
out->offset=0;
for(int d=0;d<t->ndim;d++){
if(t->stride[d]>=0)continue;
out->stride[d]= -out->stride[d];
out->offset+= -(t->shape[d]-1)*out->stride[d];}}
static int oxi_layout_align(ox_dtype dtype){
return oxi_is_block(dtype)?4:oxi_info(dtype)->block_bytes;}
static void oxi_layout_of(const ox_tensor*t,bool pack,oxi_stream_layout*out){
oxi_layout_dim dims[OX_MAX_DIMS];
memset(out,0,sizeof*out);
out->align=oxi_layout_align(t->dtype);
if(ox_numel(t)==0)return;
int all=oxi_layout_dims(t,dims),loops=all;
int64_t block=oxi_info(t->dtype)->block_elements,low=t->offset,high=t->offset,run=1;
for(int d=0;d<t->ndim;d++)*(t->stride[d]<0? &low: &high)+=(t->shape[d]-1)*t->stride[d];
while(loops>0&&dims[loops-1].step==run)run*=dims[--loops].count;
int64_t span=(high/block-low/block+1)*block,packed=run;
for(int j=0;j<loops;j++)packed*=dims[j].count;
if(pack&&packed<=span){
oxi_layout_pack(t,low,run,dims,loops,all,out);}else{
oxi_layout_span(t,low,span,out);
out->gaps=span!=packed;}}
enum{OXI_REQUEST_COST=4096};
static double oxi_layout_cost(const oxi_stream_layout*layout){
double runs=1;
for(int j=0;j<layout->loops;j++)runs*=(double)layout->count[j];
return(double)layout->bytes+runs*OXI_REQUEST_COST;}
static bool oxi_layout_packs(const ox_tensor*t,size_t room){
oxi_stream_layout span,packed;
oxi_layout_of(t,false,&span);
oxi_layout_of(t,true,&packed);
return span.bytes>room||oxi_layout_cost(&span)>oxi_layout_cost(&packed);}
typedef struct oxi_stream_space{
int ndim;
int64_t size[OX_MAX_DIMS];
int64_t unit[OX_MAX_DIMS];
int dim[OXI_STREAM_OPERANDS][OX_MAX_DIMS];
int64_t times[OXI_STREAM_OPERANDS][OX_MAX_DIMS];}oxi_stream_space;
typedef struct oxi_stream_plan{
oxi_stream_flow flow;
ox_device*compute;
const oxi_call*call;
ox_tensor operand[OXI_STREAM_OPERANDS];
bool there[OXI_STREAM_OPERANDS],streamed[OXI_STREAM_OPERANDS];
bool packs[OXI_STREAM_OPERANDS];
bool keeps_strides;
oxi_stream_space space;
int64_t part[OX_MAX_DIMS];
int64_t parts[OX_MAX_DIMS];
oxi_part told;
oxi_shared shared;
const int64_t*rows;}oxi_stream_plan;
static int oxi_space_add(oxi_stream_space*space,int64_t size){
int d=space->ndim++;
space->size[d]=size;
space->unit[d]=1;
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
space->dim[i][d]= -1;
space->times[i][d]=1;}
return d;}
static ox_tensor oxi_plan_part(const oxi_stream_plan*plan,int operand,const int64_t*start,
 const int64_t*count){
ox_tensor t=plan->operand[operand];
for(int d=0;d<plan->space.ndim;d++){
int at=plan->space.dim[operand][d];
if(at<0)continue;
int64_t first=operand==0&&d==0&&plan->rows?plan->rows[start[0]]:start[d];
t.offset+=first*plan->space.times[operand][d]*t.stride[at];
t.shape[at]=count[d]*plan->space.times[operand][d];}
return t;}
static bool oxi_plan_is_result(int operand){
return operand>=OXI_MAX_IN;}
static bool oxi_plan_packs(const oxi_stream_plan*plan,const ox_tensor*part,size_t room){
return!plan->keeps_strides&&oxi_layout_packs(part,room);}
typedef struct oxi_plan_cost{
size_t most;
double excess;
double traffic;}oxi_plan_cost;
static oxi_plan_cost oxi_plan_measure(const oxi_stream_plan*plan,const int64_t*count,size_t room){
static const int64_t origin[OX_MAX_DIMS]={0};
oxi_plan_cost cost={0,0,0};
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(!plan->streamed[i])continue;
oxi_stream_layout layout;
ox_tensor t=oxi_plan_part(plan,i,origin,count);
oxi_layout_of(&t,oxi_plan_packs(plan,&t,room),&layout);
if(layout.bytes>cost.most)cost.most=layout.bytes;
if(layout.bytes>room)cost.excess+=(double)(layout.bytes-room);
cost.traffic+=oxi_layout_cost(&layout);}
for(int d=0;d<plan->space.ndim;d++)cost.traffic*=(double)plan->space.size[d]/(double)count[d];
return cost;}
static int64_t oxi_space_parts(const oxi_stream_space*space,int d,int64_t most,int64_t*largest){
int64_t unit=space->unit[d],units=oxi_parts(space->size[d],unit),per=most/unit;
int64_t parts=oxi_parts(units,per>0?per:1);
*largest=oxi_parts(units,parts)*unit;
if(*largest>space->size[d])*largest=space->size[d];
return parts;}
static bool oxi_space_halve(const oxi_stream_space*space,int d,int64_t*part){
int64_t old=part[d],half=oxi_parts(old,2*space->unit[d])*space->unit[d];
if(half<old)part[d]=half;
return half<old;}
static int oxi_plan_choose_dim(const oxi_stream_plan*plan,int64_t*part,size_t room){
oxi_plan_cost cost=oxi_plan_measure(plan,part,room);
int best= -1;
double least=0;
for(int d=0;d<plan->space.ndim;d++){
int64_t old=part[d];
if(!oxi_space_halve(&plan->space,d,part))continue;
oxi_plan_cost now=oxi_plan_measure(plan,part,room);
part[d]=old;
if(now.excess>=cost.excess||(best>=0&&now.traffic>0.999*least))continue;
best=d;
least=now.traffic;}
return best;}
static void oxi_plan_grow(const oxi_stream_plan*plan,int d,int64_t*part,size_t room){
int64_t unit=plan->space.unit[d],size=plan->space.size[d],low=part[d]/unit,high=2*low;
while(low<high){
int64_t middle=low+(high-low+1)/2;
part[d]=oxi_min_i64(middle*unit,size);
if(oxi_plan_measure(plan,part,room).most<=room)
low=middle;
else
high=middle -1;}
part[d]=oxi_min_i64(low*unit,size);}
static void oxi_plan_settle(oxi_stream_plan*plan,size_t room){
static const int64_t origin[OX_MAX_DIMS]={0};
plan->flow.count=1;
for(int d=0;d<plan->space.ndim;d++){
plan->parts[d]=oxi_space_parts(&plan->space,d,plan->part[d],&plan->part[d]);
plan->flow.count*=plan->parts[d];}
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
oxi_stream_layout layout;
if(!plan->streamed[i])continue;
ox_tensor t=oxi_plan_part(plan,i,origin,plan->part);
plan->packs[i]=oxi_plan_packs(plan,&t,room);
oxi_layout_of(&t,plan->packs[i],&layout);
if(layout.bytes>plan->flow.cell_bytes)plan->flow.cell_bytes=layout.bytes;
if(oxi_plan_is_result(i)&&layout.gaps)plan->flow.window=1;}}
static void oxi_plan_cut(oxi_stream_plan*plan,size_t room){
const oxi_stream_space*space= &plan->space;
int last= -1;
memcpy(plan->part,space->size,sizeof plan->part);
if(plan->rows)plan->part[0]=1;
size_t most=oxi_plan_measure(plan,plan->part,room).most;
while(most>room){
int d=oxi_plan_choose_dim(plan,plan->part,room);
if(d<0)break;
(void)oxi_space_halve(space,d,plan->part);
most=oxi_plan_measure(plan,plan->part,room).most;
last=d;}
if(last>=0&&most<=room)oxi_plan_grow(plan,last,plan->part,room);
oxi_plan_settle(plan,room);}
static void oxi_plan_place(const oxi_stream_plan*plan,int64_t index,int64_t*start,int64_t*count){
for(int d=plan->space.ndim-1;d>=0;d--){
int64_t at=index%plan->parts[d],unit=plan->space.unit[d];
int64_t units=oxi_parts(plan->space.size[d],unit);
index/=plan->parts[d];
int64_t whole=units/plan->parts[d],longer=units%plan->parts[d];
int64_t end=(whole*(at+1)+(at+1<longer?at+1:longer))*unit;
start[d]=(whole*at+(at<longer?at:longer))*unit;
count[d]=(end<plan->space.size[d]?end:plan->space.size[d])-start[d];}}
static const oxi_stream_region*oxi_region_of(const ox_tensor*t){
return(const oxi_stream_region*)t->storage->data;}
static ox_status oxi_plan_prepare(oxi_stream_flow*flow,int64_t index,oxi_stream_step*step){
const oxi_stream_plan*plan=(const oxi_stream_plan*)(const void*)flow;
int64_t start[OX_MAX_DIMS],count[OX_MAX_DIMS];
oxi_plan_place(plan,index,start,count);
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
oxi_stream_source*source= &step->source[i];
if(!plan->streamed[i])continue;
ox_tensor t=oxi_plan_part(plan,i,start,count);
source->region=oxi_region_of(&t);
oxi_layout_of(&t,plan->packs[i],&source->layout);
source->use=oxi_plan_is_result(i)?OXI_STREAM_STORE:OXI_STREAM_LOAD;
if(oxi_plan_is_result(i)&&source->layout.gaps)
source->use|=OXI_STREAM_LOAD;}
return OX_OK;}
static void oxi_plan_borrow(const oxi_stream_plan*plan,const oxi_stream_source*source,ox_tensor*t,
 ox_storage*storage){
static char nothing[64];
memset(storage,0,sizeof*storage);
storage->references=1;
storage->device=plan->compute;
storage->data=source->data?source->data:nothing;
storage->bytes=source->layout.bytes;
storage->borrowed=true;
t->storage=storage;
t->offset=source->layout.offset;
memcpy(t->stride,source->layout.stride,sizeof t->stride);}
static ox_status oxi_plan_upload(const oxi_stream_plan*plan,const oxi_stream_source*source,ox_tensor*t,
 ox_storage**storage,oxi_event*sent){
ox_device*device=plan->compute;
*storage=oxi_storage_new(device,source->layout.bytes);
if(!*storage)return OX_ERR_NOMEM;
t->storage= *storage;
t->offset=source->layout.offset;
memcpy(t->stride,source->layout.stride,sizeof t->stride);
if(!(source->use&OXI_STREAM_LOAD)||source->layout.bytes==0)return OX_OK;
const char*cells=plan->flow.pinned;
bool pinned=cells&&source->data>=cells&&source->data<cells+plan->flow.pinned_bytes;
if(!pinned|| !device->copy_async)
return device->write(device,(*storage)->data,0,source->data,source->layout.bytes);
oxi_place to={device,(*storage)->data,0},from={ox_cpu(),source->data,0};
return device->copy_async(device,&to,&from,source->layout.bytes,NULL,sent);}
static ox_status oxi_plan_run_there(const oxi_stream_plan*plan,const oxi_stream_step*step,ox_tensor*part,
 const oxi_call*call){
ox_device*device=plan->compute;
ox_storage*storage[OXI_STREAM_OPERANDS];
oxi_event sent[OXI_STREAM_OPERANDS];
ox_status status=OX_OK;
memset(storage,0,sizeof storage);
memset(sent,0,sizeof sent);
for(int i=0;i<OXI_STREAM_OPERANDS&&status==OX_OK;i++)
if(plan->streamed[i])
status=oxi_plan_upload(plan,&step->source[i],&part[i],&storage[i],&sent[i]);
if(status==OX_OK)status=oxi_run_part(device,call,&plan->told);
for(int i=OXI_MAX_IN;i<OXI_STREAM_OPERANDS&&status==OX_OK;i++)
if(storage[i])
status=device->read(device,storage[i]->data,0,step->source[i].data,step->source[i].layout.bytes);
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
ox_status over=oxi_event_wait(&sent[i]);
if(status==OX_OK)status=over;
if(storage[i])oxi_storage_release(storage[i]);}
return status;}
static ox_status oxi_plan_compute(oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step){
oxi_stream_plan*plan=(oxi_stream_plan*)(void*)flow;
ox_tensor part[OXI_STREAM_OPERANDS],*in[OXI_MAX_IN];
ox_storage storage[OXI_STREAM_OPERANDS];
int64_t start[OX_MAX_DIMS],count[OX_MAX_DIMS];
oxi_call call= *plan->call;
oxi_plan_place(plan,index,start,count);
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(!plan->there[i])continue;
part[i]=oxi_plan_part(plan,i,start,count);
part[i].references=1;
if(plan->streamed[i]&&plan->compute->host)
oxi_plan_borrow(plan,&step->source[i],&part[i],&storage[i]);}
for(int i=0;i<call.in_count;i++)in[i]=plan->there[i]? &part[i]:NULL;
for(int i=0;i<call.out_count;i++)call.out[i]= &part[OXI_MAX_IN+i];
call.in=in;
if(oxi_op_row_of(call.op)->family==OXI_FAMILY_FILL)
call.attr.shape.shape=ox_shape_from(part[OXI_MAX_IN].ndim,part[OXI_MAX_IN].shape);
return plan->compute->host?oxi_run_part(plan->compute,&call,&plan->told)
 :oxi_plan_run_there(plan,step,part,&call);}
/* >>stream/ops/cuttable_dims.c */
enum{OXI_PLAN_OUT=OXI_MAX_IN};
static bool oxi_is_streamed(const ox_tensor*t){
return ox_device_of(t)->run==oxi_stream_run;}
static void oxi_space_map(oxi_stream_plan*plan,int operand,int d,int dim){
if(!plan->there[operand]||dim<0)return;
if(plan->operand[operand].shape[dim]==plan->space.size[d])plan->space.dim[operand][d]=dim;}
static void oxi_space_keep_blocks(oxi_stream_plan*plan,int operand){
const ox_tensor*t= &plan->operand[operand];
if(!plan->there[operand]|| !oxi_is_block(t->dtype))return;
int along=oxi_block_dim(t),block=oxi_info(t->dtype)->block_elements;
for(int d=0;d<plan->space.ndim;d++)
if(plan->space.dim[operand][d]==along&&plan->space.unit[d]<block)plan->space.unit[d]=block;}
static void oxi_space_elementwise(oxi_stream_plan*plan){
const ox_tensor*out= &plan->operand[OXI_PLAN_OUT];
for(int d=0;d<out->ndim;d++){
(void)oxi_space_add(&plan->space,out->shape[d]);
oxi_space_map(plan,OXI_PLAN_OUT,d,d);
for(int i=0;i<OXI_MAX_IN;i++)
oxi_space_map(plan,i,d,d-(out->ndim-plan->operand[i].ndim));}
for(int i=0;i<OXI_STREAM_OPERANDS;i++)oxi_space_keep_blocks(plan,i);}
static void oxi_space_fill(oxi_stream_plan*plan){
if(plan->call->op==OXI_OP_fill)oxi_space_elementwise(plan);}
static void oxi_space_other_dims(oxi_stream_plan*plan,uint32_t whole){
const ox_tensor*x= &plan->operand[0];
for(int d=0;d<x->ndim;d++){
if(whole>>d&1)continue;
int at=oxi_space_add(&plan->space,x->shape[d]);
plan->space.dim[0][at]=d;
for(int o=OXI_PLAN_OUT;o<OXI_STREAM_OPERANDS;o++)
if(plan->there[o])plan->space.dim[o][at]=d;}}
static void oxi_space_one_dim(oxi_stream_plan*plan){
if(plan->operand[0].ndim>0)oxi_space_other_dims(plan,1u<<plan->call->attr.along.dim);}
static void oxi_space_rows(oxi_stream_plan*plan){
const oxi_call*call=plan->call;
oxi_space_other_dims(plan,oxi_row_form_of(call).inside);
plan->keeps_strides= !oxi_row_tell(call,&plan->told);}
static void oxi_space_rope(oxi_stream_plan*plan){
int last=plan->operand[0].ndim-1;
oxi_space_other_dims(plan,1u<<last|(plan->there[1]?0:1u<<(last-1)));
if(plan->there[1])plan->space.dim[1][plan->space.ndim-1]=0;}
static bool oxi_plan_join(ox_tensor*t,int keep){
int64_t shape[OX_MAX_DIMS],stride[OX_MAX_DIMS];
if(t->ndim<=keep +1)return true;
int lead=t->ndim-keep;
shape[0]=1;
for(int d=0;d<lead;d++)shape[0]*=t->shape[d];
for(int d=0;d<keep;d++)shape[1+d]=t->shape[lead+d];
if(!oxi_view_strides(t,keep +1,shape,stride))return false;
t->ndim=keep +1;
memcpy(t->shape,shape,(size_t)t->ndim*sizeof*shape);
memcpy(t->stride,stride,(size_t)t->ndim*sizeof*stride);
return true;}
static bool oxi_space_rows_of_product(oxi_stream_plan*plan){
ox_tensor x=plan->operand[0],out=plan->operand[OXI_PLAN_OUT];
if(x.ndim<2|| !oxi_plan_join(&x,1)|| !oxi_plan_join(&out,1))return false;
plan->operand[0]=x;
plan->operand[OXI_PLAN_OUT]=out;
int d=oxi_space_add(&plan->space,x.shape[0]);
plan->space.dim[0][d]=plan->space.dim[OXI_PLAN_OUT][d]=0;
return true;}
static void oxi_space_linear(oxi_stream_plan*plan){
bool rows=plan->streamed[0]||plan->streamed[OXI_PLAN_OUT];
if(rows&& !oxi_space_rows_of_product(plan))
oxi_space_other_dims(plan,1u<<(plan->operand[0].ndim-1));
int d=oxi_space_add(&plan->space,plan->operand[1].shape[0]);
plan->space.dim[1][d]=0;
if(plan->there[2])plan->space.dim[2][d]=0;
plan->space.dim[OXI_PLAN_OUT][d]=plan->operand[OXI_PLAN_OUT].ndim-1;}
static void oxi_space_batches(oxi_stream_plan*plan,int leading){
const ox_tensor*out= &plan->operand[OXI_PLAN_OUT];
for(int d=0;d<leading;d++){
int at=oxi_space_add(&plan->space,out->shape[d]);
plan->space.dim[OXI_PLAN_OUT][at]=d;
for(int i=0;i<2;i++){
int own=plan->operand[i].ndim-2,dim=d-(leading-own);
if(own>0)oxi_space_map(plan,i,at,dim);}}}
static void oxi_space_matmul(oxi_stream_plan*plan){
int a_dims=plan->operand[0].ndim,b_dims=plan->operand[1].ndim;
int columns=b_dims>1,leading=plan->operand[OXI_PLAN_OUT].ndim-(a_dims>1)-columns;
bool rows=a_dims>1&&(plan->streamed[0]||plan->streamed[OXI_PLAN_OUT]);
if(!(rows&&columns&&b_dims==2&&oxi_space_rows_of_product(plan))){
oxi_space_batches(plan,leading);
int d=rows?oxi_space_add(&plan->space,plan->operand[0].shape[a_dims-2]): -1;
if(rows)plan->space.dim[0][d]=a_dims-2;
if(rows)plan->space.dim[OXI_PLAN_OUT][d]=leading;}
if(!columns)return;
int d=oxi_space_add(&plan->space,plan->operand[1].shape[b_dims-1]);
plan->space.dim[1][d]=b_dims-1;
plan->space.dim[OXI_PLAN_OUT][d]=plan->operand[OXI_PLAN_OUT].ndim-1;}
static void oxi_space_addmm(oxi_stream_plan*plan){
for(int side=0;side<2;side++){
int d=oxi_space_add(&plan->space,plan->operand[1+side].shape[side]);
plan->space.dim[1+side][d]=plan->space.dim[OXI_PLAN_OUT][d]=side;
oxi_space_map(plan,0,d,side -(2-plan->operand[0].ndim));}}
static void oxi_space_product(oxi_stream_plan*plan){
oxi_product_roles roles=oxi_product_roles_of(plan->call->op);
if(roles.transposed)
oxi_space_linear(plan);
else if(roles.addend<0)
oxi_space_matmul(plan);
else
oxi_space_addmm(plan);}
static void oxi_space_attention_dim(oxi_stream_plan*plan,int from_last,int64_t size,int64_t group){
int d=oxi_space_add(&plan->space,size);
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
bool queries=i==0||i==3||i==OXI_PLAN_OUT;
int64_t times=queries?group:1;
int dim=plan->operand[i].ndim-from_last;
if(!plan->there[i]||dim<0||plan->operand[i].shape[dim]!=size*times)continue;
if(size*times==1)continue;
plan->space.dim[i][d]=dim;
plan->space.times[i][d]=times;}}
static void oxi_space_attention(oxi_stream_plan*plan){
const ox_tensor*q= &plan->operand[0],*k= &plan->operand[1];
if(q->ndim<3||k->ndim!=q->ndim||plan->operand[2].ndim!=q->ndim)return;
int64_t heads=k->shape[k->ndim-3],group=heads>0?q->shape[q->ndim-3]/heads:1;
plan->told.heads=heads;
for(int d=0;d<q->ndim-3;d++){
plan->told.heads*=q->shape[d];
oxi_space_attention_dim(plan,q->ndim-d,q->shape[d],1);}
oxi_space_attention_dim(plan,3,heads,group);
if(!plan->there[4])return;
plan->space.dim[4][plan->space.ndim-1]=0;
plan->space.times[4][plan->space.ndim-1]=group;}
typedef void(*oxi_space_fn)(oxi_stream_plan*plan);
static const oxi_space_fn oxi_spaces[OXI_FAMILY_COMPUTED]={
oxi_space_elementwise,oxi_space_elementwise,oxi_space_fill,NULL,NULL,oxi_space_one_dim,oxi_space_one_dim,
 oxi_space_rows,NULL,oxi_space_product,oxi_space_rope,oxi_space_attention,};
static void oxi_plan_operand(oxi_stream_plan*plan,int at,const ox_tensor*t){
if(!t)return;
plan->operand[at]=oxi_borrowed(t);
plan->operand[at].is_number=t->is_number;
plan->there[at]=true;
plan->streamed[at]=oxi_is_streamed(t);}
static void oxi_plan_operands(oxi_stream_plan*plan,ox_device*compute,const oxi_call*call){
memset(plan,0,sizeof*plan);
plan->compute=compute;
plan->call=call;
plan->told.whole=call;
plan->flow.prepare=oxi_plan_prepare;
plan->flow.compute=oxi_plan_compute;
plan->flow.device=compute->host?NULL:compute;
for(int i=0;i<call->in_count;i++)oxi_plan_operand(plan,i,call->in[i]);
for(int i=0;i<call->out_count;i++)oxi_plan_operand(plan,OXI_PLAN_OUT+i,call->out[i]);
for(int i=0;i<OXI_STREAM_OPERANDS;i++)plan->flow.cells+=plan->streamed[i];}
static void oxi_plan_open(oxi_stream_plan*plan,ox_device*compute,const oxi_call*call){
oxi_space_fn space=oxi_spaces[oxi_op_row_of(call->op)->family];
bool empty=false;
oxi_plan_operands(plan,compute,call);
for(int i=0;i<OXI_STREAM_OPERANDS;i++)
empty=empty||(plan->there[i]&&ox_numel(&plan->operand[i])==0);
if(space&& !empty)space(plan);}
static size_t oxi_stream_room(const ox_stream*stream){
return stream->desc.tile_bytes-2*OXI_STREAM_PAGE;}
static bool oxi_plan_shares(const oxi_stream_plan*plan){
int x=oxi_product_roles_of(plan->call->op).a;
if(oxi_op_row_of(plan->call->op)->family!=OXI_FAMILY_PRODUCT)return false;
if(oxi_is_block(plan->operand[x].dtype))x++;
bool shares= !plan->streamed[x];
for(int d=0;d<plan->space.ndim;d++)
shares=shares&&(plan->space.dim[x][d]<0||plan->parts[d]==1);
return shares;}
static ox_status oxi_stream_run_cut(ox_stream*stream,oxi_stream_plan*plan){
if(plan->flow.cell_bytes>oxi_stream_room(stream))stream->stats.whole_loads++;
plan->told.shared=oxi_plan_shares(plan)? &plan->shared:NULL;
ox_status status=oxi_flow_run_all(stream,&plan->flow);
oxi_free(plan->shared.memory,plan->shared.bytes);
return status;}
static ox_status oxi_stream_run_plan(ox_stream*stream,oxi_stream_plan*plan){
oxi_plan_cut(plan,oxi_stream_room(stream));
return oxi_stream_run_cut(stream,plan);}
/* >>stream/ops/cat_and_rows.c */
static ox_status oxi_stream_copy_by(ox_stream*stream,ox_device*compute,ox_tensor*from,ox_tensor*to){
oxi_stream_plan plan;
oxi_call copy=oxi_call_of(OXI_OP_copy,&from,1,to);
oxi_plan_open(&plan,compute,&copy);
return oxi_stream_run_plan(stream,&plan);}
static ox_status oxi_stream_copy_plan(ox_stream*stream,ox_tensor*from,ox_tensor*to){
return oxi_stream_copy_by(stream,stream->desc.compute,from,to);}
static ox_status oxi_stream_cat(ox_stream*stream,const oxi_call*call){
ox_tensor part=oxi_borrowed(call->out[0]);
int dim=call->attr.along.dim;
ox_status status=OX_OK;
for(int i=0;i<call->in_count&&status==OX_OK;i++){
if(ox_numel(call->in[i])==0)continue;
part.shape[dim]=call->in[i]->shape[dim];
status=oxi_stream_copy_plan(stream,call->in[i],&part);
part.offset+=part.shape[dim]*part.stride[dim];}
return status;}
static void oxi_space_picked_rows(oxi_stream_plan*plan){
ox_tensor*out= &plan->operand[OXI_PLAN_OUT];
for(int d=0;d<out->ndim;d++){
int at=oxi_space_add(&plan->space,out->shape[d]);
plan->space.dim[0][at]=plan->space.dim[OXI_PLAN_OUT][at]=d;}
oxi_space_keep_blocks(plan,0);
oxi_space_keep_blocks(plan,OXI_PLAN_OUT);}
static void oxi_gather_add_dim(ox_tensor*t){
memmove(t->shape +1,t->shape,(size_t)t->ndim*sizeof*t->shape);
memmove(t->stride +1,t->stride,(size_t)t->ndim*sizeof*t->stride);
t->shape[0]=1;
t->stride[0]=0;
t->ndim++;}
static ox_status oxi_stream_pick(ox_stream*stream,const oxi_call*call,const int64_t*rows){
oxi_stream_plan plan;
ox_tensor out=oxi_borrowed(call->out[0]),*table=call->in[0];
if(out.ndim<table->ndim)oxi_gather_add_dim(&out);
if(!oxi_plan_join(&out,table->ndim-1))
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: rows of a streamed table go to dense results only",
 oxi_op_row_of(call->op)->name);
oxi_call copy=oxi_call_of(OXI_OP_copy,&table,1,&out);
oxi_plan_operands(&plan,stream->desc.compute,&copy);
plan.rows=rows;
plan.flow.unlearned=true;
oxi_space_picked_rows(&plan);
return oxi_stream_run_plan(stream,&plan);}
static ox_status oxi_stream_pick_by(ox_stream*stream,const oxi_call*call,const ox_tensor*index){
const char*name=oxi_op_row_of(call->op)->name;
bool embedding=call->op==OXI_OP_embedding;
ox_status status=oxi_check_indices(name,index,call->in[0]->shape[0],embedding?"a table":"dim 0");
if(status!=OX_OK)return status;
size_t bytes=(size_t)ox_numel(index)*sizeof(int64_t);
int64_t*rows=(int64_t*)oxi_alloc(bytes);
if(!rows)return OX_ERR_NOMEM;
oxi_load_range(index,0,ox_numel(index),OXI_LANE_I64,rows);
status=oxi_stream_pick(stream,call,rows);
oxi_free(rows,bytes);
return status;}
static ox_status oxi_stream_near(ox_stream*stream,ox_tensor*t,ox_tensor**near){
size_t bytes=ox_nbytes(t);
*near=ox_device_of(t)->host?ox_retain(t):NULL;
if(*near)return OX_OK;
if(bytes>stream->desc.ram_bytes)
return oxi_fail(OX_ERR_NOMEM,"the stream's RAM budget has no room for %llu bytes of %s",
 (unsigned long long)bytes,oxi_tensor_text(t));
oxi_capacitor_yield(stream,bytes);
*near=oxi_tensor_new(ox_cpu(),t->dtype,t->ndim,t->shape);
if(!*near)return OX_ERR_NOMEM;
stream->stats.whole_loads+=oxi_is_streamed(t);
ox_status status=oxi_is_streamed(t)?oxi_stream_copy_by(stream,ox_cpu(),t,*near):ox_copy_(*near,t)?OX_OK
 :ox_error();
if(status==OX_OK)return OX_OK;
ox_release(*near);
*near=NULL;
return status;}
static ox_status oxi_stream_rows(ox_stream*stream,const oxi_call*call){
ox_tensor*near=NULL;
ox_status status=oxi_stream_near(stream,call->in[1],&near);
if(status==OX_OK)status=oxi_stream_pick_by(stream,call,near);
ox_release(near);
return status;}
static bool oxi_stream_picks(const oxi_call*call){
bool rows=call->op==OXI_OP_embedding||
 (call->op==OXI_OP_index_select&&call->attr.along.dim==0&&call->in[0]->ndim>0);
return rows&&call->in[0]->shape[0]>0&&ox_numel(call->out[0])>0;}
/* >>stream/ops/experts.c */
static ox_tensor*oxi_stream_experts_of(const oxi_call*call){
ox_tensor*x=call->in[0],*w=call->in[1],*bias=call->in[3];
ox_tensor*ids=ox_flatten(ox_cast(ox_to(call->in[2],ox_cpu()),OX_I64),0,1);
if(!ids||oxi_check_indices(oxi_op_name(call),ids,w->shape[0],"a weight")!=OX_OK)return NULL;
ox_device*device=oxi_working_device(ox_device_of(x));
ox_pair order=ox_sort(ids,0,false);
ox_tensor*from=order.indices;
if(x->ndim==2)from=ox_floor_divide(from,ox_integer(call->in[2]->shape[1]));
x=ox_index_select(x->ndim==2?x:ox_flatten(x,0,1),0,ox_to(from,device));
int64_t slots=ids->shape[0],shape[2]={slots,w->shape[1]},n;
ox_tensor*y=oxi_tensor_new(device,call->out[0]->dtype,2,shape);
const int64_t*expert=order.values?(const int64_t*)ox_data(order.values):NULL;
for(int64_t first=0;expert&&y&&first<slots;first+=n){
for(n=1;first+n<slots&&expert[first+n]==expert[first];)n++;
ox_tensor*one=ox_linear(ox_narrow(x,0,first,n),ox_select(w,0,expert[first]),
 bias?ox_select(bias,0,expert[first]):NULL);
if(!ox_copy_(ox_narrow(y,0,first,n),one))return NULL;}
y=ox_index_select(y,0,ox_to(ox_argsort(order.indices,0,false),device));
return ox_reshape(y,ox_shape_of(call->out[0]));}
static ox_status oxi_stream_experts(const oxi_call*call){
bool unheard=oxi_unheard,exact=oxi_exact;
ox_scope scope=ox_scope_begin();
oxi_unheard=true;
oxi_exact=call->exact;
ox_tensor*made=oxi_stream_experts_of(call);
ox_status status=made?oxi_copy_quiet(call->out[0],made):ox_error();
oxi_unheard=unheard;
oxi_exact=exact;
ox_scope_end(&scope);
return status;}
/* >>stream/ops/long_lines.c */
enum{OXI_LINES_OPERANDS=1+OXI_MAX_OUT};
typedef struct oxi_stream_lines{
oxi_stream_flow flow;
oxi_reduce*r;
int operands;
ox_tensor t[OXI_LINES_OPERANDS];
bool streamed[OXI_LINES_OPERANDS];
bool lined[OXI_LINES_OPERANDS];
int64_t origin[OXI_LINES_OPERANDS];
int64_t shift[OXI_LINES_OPERANDS];
int64_t groups,elements;
int64_t group_steps,line_steps;}oxi_stream_lines;
typedef struct oxi_lines_part{
int64_t group,groups,first,count;}oxi_lines_part;
static void oxi_walk_reach(const oxi_walk*w,int operand,int64_t first,int64_t end,int64_t*low,
 int64_t*high){
int64_t inside=w->numel,last=end-1;
bool split=false;
for(int d=0;d<w->ndim;d++){
inside/=w->shape[d];
int64_t a=first/inside,b=last/inside;
first%=inside;
last%=inside;
if(split){
a=0;
b=w->shape[d]-1;}
split=split||a!=b;
int64_t from=a*w->stride[operand][d],to=b*w->stride[operand][d];
*low+=from<to?from:to;
*high+=from<to?to:from;}}
static bool oxi_lines_span(const oxi_stream_lines*job,int operand,const oxi_lines_part*part,
 oxi_stream_layout*out){
const oxi_reduce*r=job->r;
const ox_tensor*t= &job->t[operand];
int64_t low=job->origin[operand],high=low,bytes=oxi_info(t->dtype)->block_bytes;
int64_t kept=part->group*r->group;
int64_t end=oxi_min_i64(kept+part->groups*r->group,r->kept.numel),elements=end-kept;
oxi_walk_reach(&r->kept,operand,kept,end,&low,&high);
if(job->lined[operand]){
oxi_walk_reach(&r->line,operand,part->first,part->first+part->count,&low,&high);
elements*=part->count;}
memset(out,0,sizeof*out);
out->align=oxi_layout_align(t->dtype);
out->first=(uint64_t)((t->offset+low)*bytes);
out->bytes=out->run=(size_t)((high-low+1)*bytes);
out->offset= -low;
return high-low+1==elements;}
static oxi_lines_part oxi_lines_at(const oxi_stream_lines*job,int64_t index){
const oxi_reduce*r=job->r;
oxi_lines_part part;
int64_t at=index%job->line_steps,end=r->line.numel;
part.group=index/job->line_steps*job->groups;
part.groups=oxi_min_i64(oxi_reduce_groups(r)-part.group,job->groups);
part.first=at*job->elements;
if(job->elements<r->chunk){
int64_t pieces=oxi_parts(r->chunk,job->elements),chunk=at/pieces*r->chunk;
part.first=chunk+at%pieces*job->elements;
end=oxi_min_i64(end,chunk+r->chunk);}
part.count=oxi_min_i64(end-part.first,job->elements);
return part;}
static bool oxi_lines_fit(const oxi_stream_lines*job,const oxi_lines_part*part,size_t room){
oxi_stream_layout layout;
for(int k=0;k<job->operands;k++){
if(!job->streamed[k]|| !job->lined[k])continue;
(void)oxi_lines_span(job,k,part,&layout);
if(layout.bytes>room)return false;}
return true;}
static void oxi_lines_widen(const oxi_stream_lines*job,oxi_lines_part*part,int64_t*side,int64_t unit,
 int64_t most,size_t room){
int64_t low=1,high=oxi_parts(most,unit);
while(low<high){
int64_t middle=low+(high-low+1)/2;
*side=oxi_min_i64(middle*unit,most);
if(oxi_lines_fit(job,part,room))
low=middle;
else
high=middle -1;}
*side=oxi_min_i64(low*unit,most);}
static void oxi_lines_shrink_groups(oxi_stream_lines*job,size_t room){
oxi_reduce*r=job->r;
int64_t unit=r->by_columns?r->width:1,chunk=oxi_min_i64(r->chunk,r->line.numel);
oxi_lines_part part={0,1,0,chunk};
while(r->group>unit&& !oxi_lines_fit(job,&part,room))
r->group=oxi_parts(r->group,2*unit)*unit;}
static void oxi_lines_cut(oxi_stream_lines*job,size_t room){
oxi_reduce*r=job->r;
oxi_lines_shrink_groups(job,room);
int64_t groups=oxi_reduce_groups(r),numel=r->line.numel,chunk=oxi_min_i64(r->chunk,numel);
oxi_lines_part part={0,1,0,numel};
if(oxi_lines_fit(job,&part,room)){
oxi_lines_widen(job,&part,&part.groups,1,groups,room);}else{
part.groups=groups;
part.count=chunk;
if(oxi_lines_fit(job,&part,room)){
oxi_lines_widen(job,&part,&part.count,chunk,numel,room);}else if(r->by_columns&&r->line.ndim==1){
r->in_parts=chunk>OXI_REDUCE_ROWS;
oxi_lines_widen(job,&part,&part.count,OXI_REDUCE_ROWS,chunk,room);}else{
part.groups=1;
oxi_lines_widen(job,&part,&part.count,chunk,numel,room);}}
job->groups=part.groups;
job->elements=part.count;
job->group_steps=oxi_parts(groups,part.groups);
job->line_steps=oxi_parts(numel,part.count);
if(part.count<r->chunk)
job->line_steps=numel/r->chunk*oxi_parts(r->chunk,part.count)+oxi_parts(numel%r->chunk,part.count);
job->flow.count=job->group_steps*job->line_steps;
for(int64_t i=0;i<job->flow.count;i++)
for(int k=0;k<job->operands;k++){
oxi_stream_layout layout;
part=oxi_lines_at(job,i);
if(!job->streamed[k])continue;
(void)oxi_lines_span(job,k,&part,&layout);
if(layout.bytes>job->flow.cell_bytes)job->flow.cell_bytes=layout.bytes;}}
static bool oxi_lines_can_store(const oxi_stream_lines*job){
oxi_stream_layout layout;
for(int64_t i=0;i<job->flow.count;i++){
oxi_lines_part part=oxi_lines_at(job,i);
for(int k=1;k<job->operands;k++)
if(job->streamed[k]&& !oxi_lines_span(job,k,&part,&layout))return false;}
return true;}
typedef struct oxi_lines_call{
oxi_call call;
ox_tensor*in[OXI_MAX_IN];
ox_storage storage;}oxi_lines_call;
static char oxi_lines_nowhere[64];
static void oxi_lines_begin(oxi_stream_lines*job,const oxi_call*call,bool far,oxi_lines_call*planned){
memset(job,0,sizeof*job);
memset(planned,0,sizeof*planned);
planned->call= *call;
planned->call.in=planned->in;
planned->storage.device=ox_cpu();
planned->storage.data=oxi_lines_nowhere;
job->operands=1+call->out_count;
for(int i=0;i<call->in_count;i++)planned->in[i]=call->in[i];
for(int k=0;k<job->operands;k++){
job->t[k]=oxi_borrowed(k==0?call->in[0]:call->out[k-1]);
job->streamed[k]=k==0||far;
if(!job->streamed[k])continue;
job->flow.cells++;
job->t[k].offset=0;
job->t[k].storage= &planned->storage;
if(k==0)
planned->in[0]= &job->t[0];
else
planned->call.out[k-1]= &job->t[k];}}
static void oxi_lines_end(oxi_stream_lines*job,const oxi_call*call,oxi_reduce*r,int lined){
job->r=r;
r->call=call;
for(int k=0;k<job->operands;k++){
int64_t bytes=oxi_info(job->t[k].dtype)->block_bytes;
job->lined[k]=k<lined;
if(!job->streamed[k])continue;
int64_t first=(int64_t)((uintptr_t)r->kept.base[k]-(uintptr_t)oxi_lines_nowhere);
job->origin[k]=(first+job->shift[k])/bytes;
job->t[k].offset=(k==0?call->in[0]:call->out[k-1])->offset;
job->t[k].storage=(k==0?call->in[0]:call->out[k-1])->storage;}}
static void oxi_lines_prepare(const oxi_stream_lines*job,const oxi_lines_part*part,bool stores,
 oxi_stream_step*step){
for(int k=0;k<job->operands;k++){
oxi_stream_source*source= &step->source[k==0?0:OXI_PLAN_OUT+k-1];
if(!job->streamed[k]||(k>0&& !stores))continue;
source->use=k==0?OXI_STREAM_LOAD:OXI_STREAM_STORE;
source->region=oxi_region_of(&job->t[k]);
(void)oxi_lines_span(job,k,part,&source->layout);}}
typedef void(*oxi_lines_fn)(const oxi_stream_lines*job,int64_t group,int64_t first,int64_t count,int lane);
typedef struct oxi_lines_tasks{
const oxi_stream_lines*job;
oxi_lines_part part;
oxi_lines_fn run;
int64_t chunk,chunks;}oxi_lines_tasks;
static void oxi_lines_task(void*arg,int64_t index,int lane){
const oxi_lines_tasks*tasks=(const oxi_lines_tasks*)arg;
const oxi_lines_part*part= &tasks->part;
int64_t chunk=tasks->job->r->chunk,first=(tasks->chunk+index%tasks->chunks)*chunk;
int64_t end=oxi_min_i64(first+chunk,part->first+part->count);
if(first<part->first)first=part->first;
tasks->run(tasks->job,part->group +index/tasks->chunks,first,end-first,lane);}
static void oxi_lines_reduce(const oxi_stream_lines*job,int64_t group,int64_t first,int64_t count,
 int lane){
oxi_reduce_part(job->r,group,first,count,lane);}
static void oxi_lines_run(oxi_stream_lines*job,const oxi_lines_part*part,const oxi_stream_step*step,
 oxi_lines_fn run){
oxi_lines_tasks tasks;
oxi_reduce*r=job->r;
for(int k=0;k<job->operands;k++){
const oxi_stream_source*source= &step->source[k==0?0:OXI_PLAN_OUT+k-1];
if(source->use==OXI_STREAM_UNUSED)continue;
int64_t from=(job->origin[k]+source->layout.offset)*oxi_info(job->t[k].dtype)->block_bytes;
r->kept.base[k]=(char*)((uintptr_t)source->data+(uintptr_t)(from-job->shift[k]));}
tasks.job=job;
tasks.part= *part;
tasks.run=run;
tasks.chunk=part->first/r->chunk;
tasks.chunks=(part->first+part->count-1)/r->chunk-tasks.chunk+1;
oxi_parallel_for(part->groups*tasks.chunks,oxi_lines_task,&tasks);}
/* >>stream/ops/reduce.c */
typedef struct oxi_stream_reduction{
oxi_stream_lines lines;
oxi_reduce r;
bool far;}oxi_stream_reduction;
static ox_status oxi_reduction_prepare(oxi_stream_flow*flow,int64_t index,oxi_stream_step*step){
const oxi_stream_lines*job=(const oxi_stream_lines*)(const void*)flow;
oxi_lines_part part=oxi_lines_at(job,index);
oxi_lines_prepare(job,&part,true,step);
return OX_OK;}
static ox_status oxi_reduction_compute(oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step){
oxi_stream_lines*job=(oxi_stream_lines*)(void*)flow;
oxi_lines_part part=oxi_lines_at(job,index);
oxi_lines_run(job,&part,step,oxi_lines_reduce);
return OX_OK;}
static bool oxi_stream_reduces(const oxi_call*call){
bool reduces=oxi_op_row_of(call->op)->family==OXI_FAMILY_REDUCE&&ox_numel(call->in[0])>0;
return reduces&&oxi_is_streamed(call->in[0]);}
static void oxi_reduction_open(oxi_stream_reduction*job,ox_stream*stream,const oxi_call*call,bool far){
oxi_lines_call planned;
oxi_lines_begin(&job->lines,call,far,&planned);
oxi_reduce_plan(&job->r,&planned.call);
job->far=far;
job->lines.shift[0]=job->r.line_shift;
oxi_lines_end(&job->lines,call,&job->r,1);
job->lines.flow.prepare=oxi_reduction_prepare;
job->lines.flow.compute=oxi_reduction_compute;
oxi_lines_cut(&job->lines,oxi_stream_room(stream));}
static bool oxi_reduction_stores(const oxi_stream_reduction*job,size_t room){
return!oxi_reduce_keeps_partials(&job->r)&&job->lines.flow.cell_bytes<=room&&
 oxi_lines_can_store(&job->lines);}
static ox_status oxi_reduction_run(oxi_stream_reduction*job,ox_stream*stream){
if(job->lines.flow.cell_bytes>oxi_stream_room(stream))stream->stats.whole_loads++;
ox_status status=oxi_reduce_begin(&job->r);
if(status==OX_OK)status=oxi_flow_run_all(stream,&job->lines.flow);
if(status==OX_OK)oxi_reduce_join(&job->r);
oxi_reduce_end(&job->r);
return status;}
static ox_status oxi_stream_reduce_near(ox_stream*stream,const oxi_call*call){
oxi_stream_reduction job;
oxi_call near= *call;
ox_status status=OX_OK;
for(int i=0;i<call->out_count;i++){
const ox_tensor*out=call->out[i];
if(ox_device_of(out)->host)continue;
near.out[i]=oxi_tensor_new(ox_cpu(),out->dtype,out->ndim,out->shape);
if(!near.out[i])status=OX_ERR_NOMEM;}
if(status==OX_OK)oxi_reduction_open(&job,stream,&near,false);
if(status==OX_OK)status=oxi_reduction_run(&job,stream);
for(int i=0;i<call->out_count;i++){
if(near.out[i]==call->out[i])continue;
if(status==OX_OK&&oxi_is_streamed(call->out[i]))
status=oxi_stream_copy_by(stream,ox_cpu(),near.out[i],call->out[i]);
else if(status==OX_OK&& !ox_copy_(call->out[i],near.out[i]))
status=ox_error();
ox_release(near.out[i]);}
return status;}
static ox_status oxi_stream_reduce(ox_stream*stream,const oxi_call*call){
oxi_stream_reduction job;
bool far=true;
for(int i=0;i<call->out_count;i++)far=far&&oxi_is_streamed(call->out[i]);
if(far)oxi_reduction_open(&job,stream,call,true);
if(far&&oxi_reduction_stores(&job,oxi_stream_room(stream)))return oxi_reduction_run(&job,stream);
return oxi_stream_reduce_near(stream,call);}
/* >>stream/ops/long_rows.c */
typedef struct oxi_stream_long_rows{
oxi_stream_lines lines;
oxi_row row;
int64_t parts;}oxi_stream_long_rows;
static ox_status oxi_long_rows_prepare(oxi_stream_flow*flow,int64_t index,oxi_stream_step*step){
const oxi_stream_long_rows*job=(const oxi_stream_long_rows*)(const void*)flow;
oxi_lines_part part=oxi_lines_at(&job->lines,index%job->parts);
oxi_lines_prepare(&job->lines,&part,index>=job->parts,step);
return OX_OK;}
static void oxi_long_rows_write(const oxi_stream_lines*job,int64_t group,int64_t first,int64_t count,
 int lane){
oxi_row_write_part(&((const oxi_stream_long_rows*)(const void*)job)->row,group,first,count,lane);}
static ox_status oxi_long_rows_compute(oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step){
oxi_stream_long_rows*job=(oxi_stream_long_rows*)(void*)flow;
oxi_lines_part part=oxi_lines_at(&job->lines,index%job->parts);
if(index==job->parts)oxi_parallel_for(oxi_reduce_groups(job->lines.r),oxi_row_join_task,&job->row);
oxi_lines_run(&job->lines,&part,step,index<job->parts?oxi_lines_reduce:oxi_long_rows_write);
return OX_OK;}
static bool oxi_long_rows_cut(oxi_stream_long_rows*job,ox_stream*stream){
oxi_reduce*r= &job->row.measure;
if(r->chunks==1&& !r->by_columns)return false;
oxi_lines_cut(&job->lines,oxi_stream_room(stream));
if(!oxi_lines_can_store(&job->lines))return false;
r->in_parts=r->chunks==1||r->in_parts;
job->parts=job->lines.flow.count;
job->lines.flow.count=2*job->parts;
job->lines.flow.prepare=oxi_long_rows_prepare;
job->lines.flow.compute=oxi_long_rows_compute;
return true;}
static ox_status oxi_long_rows_run(ox_stream*stream,const oxi_call*call,bool*done){
oxi_stream_long_rows job;
oxi_lines_call planned;
oxi_reduce*r= &job.row.measure;
oxi_lines_begin(&job.lines,call,oxi_is_streamed(call->out[0]),&planned);
ox_status status=oxi_row_plan(&job.row,&planned.call,NULL);
for(int k=0;k<2&&status==OX_OK;k++)job.lines.shift[k]=job.row.line_shift[k];
if(status==OX_OK)oxi_lines_end(&job.lines,call,r,2);
*done=status!=OX_OK||oxi_long_rows_cut(&job,stream);
if(status==OX_OK&& *done){
if(job.lines.flow.cell_bytes>oxi_stream_room(stream))stream->stats.whole_loads++;
status=oxi_reduce_begin(r);
if(status==OX_OK)status=oxi_flow_run_all(stream,&job.lines.flow);
oxi_reduce_end(r);}
oxi_row_close(&job.row);
return status;}
static bool oxi_stream_has_long_rows(const ox_stream*stream,const oxi_stream_plan*plan){
const oxi_call*call=plan->call;
bool here=oxi_is_streamed(call->out[0])||ox_device_of(call->out[0])->host;
return oxi_op_row_of(call->op)->family==OXI_FAMILY_ROW&&here&&oxi_is_streamed(call->in[0])&&
 plan->flow.cell_bytes>oxi_stream_room(stream);}
static ox_status oxi_stream_long_rows_run(ox_stream*stream,const oxi_call*call,bool*done){
ox_tensor*in[OXI_MAX_IN]={call->in[0]};
oxi_call near= *call;
ox_status status=OX_OK;
near.in=in;
for(int i=1;i<call->in_count&&status==OX_OK;i++)
status=call->in[i]?oxi_stream_near(stream,call->in[i],&in[i]):OX_OK;
*done=status!=OX_OK;
if(status==OX_OK)status=oxi_long_rows_run(stream,&near,done);
for(int i=1;i<call->in_count;i++)ox_release(in[i]);
return status;}
/* >>stream/memory.c */
#if defined(__linux__)
#include <sys/resource.h>
static const char*oxi_system_root="";
static FILE*oxi_system_file(const char*folder,const char*group,const char*name){
char path[1280];
int length=snprintf(path,sizeof path,"%s%s%s%s",oxi_system_root,folder,group,name);
return length<(int)sizeof path?fopen(path,"r"):NULL;}
static size_t oxi_file_number(const char*folder,const char*group,const char*name){
unsigned long long number=0;
FILE*file=oxi_system_file(folder,group,name);
bool found=file&&fscanf(file,"%llu",&number)==1;
if(file)fclose(file);
return found&&number<SIZE_MAX?(size_t)number:SIZE_MAX;}
static size_t oxi_file_line(const char*folder,const char*group,const char*name,const char*word){
char line[256];
unsigned long long number=0;
size_t length=strlen(word);
FILE*file=oxi_system_file(folder,group,name);
while(file&&fgets(line,(int)sizeof line,file))
if(strncmp(line,word,length)==0&&sscanf(line +length," %llu",&number)==1)break;
if(file)fclose(file);
return number<SIZE_MAX?(size_t)number:SIZE_MAX;}
typedef struct oxi_group_names{
const char*folder,*most,*high,*used,*idle_pages,*pages;}oxi_group_names;
static const oxi_group_names oxi_groups_first={
"/sys/fs/cgroup/memory","/memory.limit_in_bytes","/memory.limit_in_bytes",
 "/memory.usage_in_bytes","total_inactive_file","total_active_file"};
static const oxi_group_names oxi_groups_second={
"/sys/fs/cgroup","/memory.max","/memory.high","/memory.current","inactive_file","active_file"};
static size_t oxi_group_room(const oxi_group_names*names,char*group){
size_t least=SIZE_MAX;
for(;;){
size_t most=oxi_file_number(names->folder,group,names->most);
size_t high=oxi_file_number(names->folder,group,names->high);
size_t used=oxi_file_number(names->folder,group,names->used);
if(high<most)most=high;
if(most!=SIZE_MAX&&used!=SIZE_MAX){
size_t idle=oxi_file_line(names->folder,group,"/memory.stat",names->idle_pages);
size_t pages=oxi_file_line(names->folder,group,"/memory.stat",names->pages)/2;
used=used>idle?used-idle:0;
used=used>pages?used-pages:0;
most=most>used?most-used:0;}
if(most<least)least=most;
char*end=strrchr(group,'/');
if(!end)return least;
*end=0;}}
static size_t oxi_groups_room(void){
char line[1024];
size_t least=SIZE_MAX;
FILE*file=oxi_system_file("/proc/self/cgroup","","");
while(file&&fgets(line,(int)sizeof line,file)){
char*controllers=strchr(line,':'),*path=controllers?strchr(controllers+1,':'):NULL;
if(!path)continue;
*path++ =0;
path[strcspn(path,"\n")]=0;
bool second=controllers[1]==0;
if(!second&&strcmp(controllers+1,"memory")!=0)continue;
size_t room=oxi_group_room(second? &oxi_groups_second: &oxi_groups_first,path);
if(room<least)least=room;}
if(file)fclose(file);
return least;}
static size_t oxi_process_room(int limit,unsigned long long pages){
struct rlimit most;
const unsigned long long used=pages*(unsigned long long)sysconf(_SC_PAGESIZE);
if(getrlimit(limit,&most)!=0||most.rlim_cur==RLIM_INFINITY)return SIZE_MAX;
const unsigned long long room=most.rlim_cur>used?(unsigned long long)most.rlim_cur-used:0;
return room<SIZE_MAX?(size_t)room:SIZE_MAX;}
static size_t oxi_processes_room(void){
unsigned long long all=0,data=0;
FILE*file=oxi_system_file("/proc/self/statm","","");
bool read=file&&fscanf(file,"%llu %*s %*s %*s %*s %llu",&all,&data)==2;
if(file)fclose(file);
size_t least=SIZE_MAX,room;
if(read&&(room=oxi_process_room(RLIMIT_AS,all))<least)least=room;
if(read&&(room=oxi_process_room(RLIMIT_DATA,data))<least)least=room;
return least;}
static size_t oxi_available_memory(void){
size_t kilobytes=oxi_file_line("/proc/meminfo","","","MemAvailable:"),least=SIZE_MAX;
size_t rooms[3];
if(kilobytes==0)kilobytes=2u<<20;
rooms[0]=kilobytes>SIZE_MAX/2048?SIZE_MAX/2:kilobytes*1024;
rooms[1]=oxi_groups_room();
rooms[2]=oxi_processes_room();
for(int i=0;i<3;i++)
if(rooms[i]<least)least=rooms[i];
return least;}
#else
static size_t oxi_available_memory(void){
return(size_t)2047<<20;}
#endif
/* >>stream/device.c */
#ifdef OX_NO_THREADS
static void oxi_stream_lock(ox_stream*stream){
(void)stream;}
static void oxi_stream_unlock(ox_stream*stream){
(void)stream;}
#else
static void oxi_stream_lock(ox_stream*stream){
oxi_mutex_take(&stream->lock);}
static void oxi_stream_unlock(ox_stream*stream){
oxi_mutex_give(&stream->lock);}
#endif
static ox_stream*oxi_stream_of(ox_device*device){
return(ox_stream*)device->state;}
static bool oxi_stream_is_inherited(const ox_stream*stream){
return stream->forks!=oxi_forks();}
static ox_status oxi_stream_enter(ox_stream*stream){
if(oxi_stream_is_inherited(stream))
return oxi_fail(OX_ERR_DEVICE,
 "%s: the stream was opened before a fork, by the parent process; a child opens its own",stream->name);
oxi_stream_lock(stream);
return OX_OK;}
static void oxi_stream_free(ox_stream*stream){
oxi_ring_free_cells(stream);
oxi_capacitor_close(stream);
oxi_spill_close(stream);
oxi_reader_close(&stream->reader);
while(stream->request_blocks){
oxi_request_block*block=(oxi_request_block*)stream->request_blocks;
stream->request_blocks=block->next;
oxi_free(block,sizeof*block);}
oxi_free(stream->spill_folder,stream->spill_folder_bytes);
oxi_free(stream,sizeof*stream);}
static void oxi_stream_release(ox_stream*stream){
bool last= --stream->references==0;
oxi_stream_unlock(stream);
if(last)oxi_stream_free(stream);}
static ox_status oxi_stream_alloc(ox_device*self,size_t bytes,void**out){
ox_stream*stream=oxi_stream_of(self);
oxi_stream_region*region=NULL;
*out=NULL;
ox_status status=oxi_stream_enter(stream);
if(status!=OX_OK)return status;
status=oxi_spill_alloc(stream,bytes,&region);
oxi_stream_unlock(stream);
*out=region;
return status;}
static void oxi_stream_region_free(oxi_stream_region*region){
ox_stream*stream=region->stream;
if(oxi_stream_is_inherited(stream))return;
oxi_stream_lock(stream);
oxi_stream_region_unlink(region);
if(region->file==stream->spill)
oxi_spill_free(stream,region);
else
oxi_stream_file_release(stream,region->file);
oxi_stream_region_delete(region);
oxi_stream_release(stream);}
static void oxi_stream_give_back(ox_device*self,void*memory,size_t bytes){
(void)self,(void)bytes;
oxi_stream_region_free((oxi_stream_region*)memory);}
static void oxi_stream_region_released(void*user,void*data){
(void)user;
oxi_stream_region_free((oxi_stream_region*)data);}
static ox_status oxi_stream_move(const oxi_stream_region*region,size_t at,void*memory,size_t bytes,
 bool write){
ox_stream*stream=region->stream;
oxi_stream_load load;
memset(&load,0,sizeof load);
if(write)oxi_region_note(region,at,(const char*)memory,bytes);
oxi_ring_request(stream,&load,region->file,region->offset+at,bytes,(char*)memory,write,false);
oxi_ring_wait_for(stream,&load);
if(load.cause!=0)return oxi_ring_fail(&load,region->file);
return write?OX_OK:oxi_region_check(region,at,(const char*)memory,bytes);}
static ox_status oxi_stream_read(ox_device*self,const void*memory,size_t offset,void*out,size_t bytes){
ox_stream*stream=oxi_stream_of(self);
ox_status status=oxi_stream_enter(stream);
if(status!=OX_OK)return status;
status=oxi_stream_move((const oxi_stream_region*)memory,offset,out,bytes,false);
oxi_stream_unlock(stream);
return status;}
static ox_status oxi_stream_write(ox_device*self,void*memory,size_t offset,const void*data,size_t bytes){
ox_stream*stream=oxi_stream_of(self);
ox_status status=oxi_stream_enter(stream);
if(status!=OX_OK)return status;
status=oxi_stream_move((const oxi_stream_region*)memory,offset,(void*)(uintptr_t)data,bytes,true);
oxi_stream_unlock(stream);
return status;}
static ox_status oxi_stream_copy(ox_device*self,void*to,size_t to_offset,const void*from,
 size_t from_offset,size_t bytes){
size_t room=oxi_stream_of(self)->desc.tile_bytes,done=0;
char*buffer=(char*)oxi_alloc(room);
ox_status status=buffer?OX_OK:OX_ERR_NOMEM;
while(status==OX_OK&&done<bytes){
size_t part=bytes-done<room?bytes-done:room;
status=oxi_stream_read(self,from,from_offset+done,buffer,part);
if(status==OX_OK)status=oxi_stream_write(self,to,to_offset+done,buffer,part);
done +=part;}
oxi_free(buffer,room);
return status;}
static void oxi_stream_statistics(ox_device*self,ox_device_stats*out){
ox_stream*stream=oxi_stream_of(self);
if(oxi_stream_is_inherited(stream))return;
oxi_stream_lock(stream);
out->bytes_in_use=stream->stats.spilled_bytes;
out->bytes_peak=stream->spill_peak;
out->bytes_reserved=stream->spill_end;
out->bytes_budget=stream->spill_budget;
oxi_stream_unlock(stream);}
static ox_status oxi_stream_budget(ox_device*self,uint64_t bytes){
ox_stream*stream=oxi_stream_of(self);
ox_status status=oxi_stream_enter(stream);
if(status!=OX_OK)return status;
stream->spill_budget=bytes;
oxi_stream_unlock(stream);
return OX_OK;}
static bool oxi_stream_supports(ox_device*self,const oxi_call*call){
(void)self,(void)call;
return true;}
static ox_status oxi_stream_run_locked(ox_stream*stream,const oxi_call*call){
if(call->op==OXI_OP_cat)return oxi_stream_cat(stream,call);
if(oxi_stream_picks(call))return oxi_stream_rows(stream,call);
if(oxi_stream_reduces(call))return oxi_stream_reduce(stream,call);
oxi_stream_plan plan;
oxi_plan_open(&plan,stream->desc.compute,call);
oxi_plan_cut(&plan,oxi_stream_room(stream));
if(oxi_stream_has_long_rows(stream,&plan)){
bool done=false;
ox_status status=oxi_stream_long_rows_run(stream,call,&done);
if(done)return status;}
return oxi_stream_run_cut(stream,&plan);}
static bool oxi_stream_has_index(const oxi_call*call){
return oxi_op_row_of(call->op)->family==OXI_FAMILY_INDEX&&call->in_count>1&&oxi_is_int(call->in[1]->dtype);
 }
static ox_status oxi_stream_check_index(ox_stream*stream,const oxi_call*call){
const char*name=oxi_op_row_of(call->op)->name;
ox_tensor*index=NULL,x=oxi_at_least_1d(call->in[0]);
oxi_stream_lock(stream);
ox_status status=oxi_ring_settle(stream);
if(status==OX_OK)status=oxi_stream_near(stream,call->in[1],&index);
oxi_stream_unlock(stream);
if(status==OX_OK)
status=call->op==OXI_OP_embedding?oxi_check_indices(name,index,x.shape[0],"a table")
 :oxi_check_dim_indices(name,index,&x,call->attr.along.dim);
ox_release(index);
return status;}
static ox_status oxi_stream_run_empty(ox_stream*stream,const oxi_call*call){
oxi_stream_plan plan;
oxi_stream_step step;
if(oxi_stream_has_index(call))return oxi_stream_check_index(stream,call);
if(call->in_count>OXI_MAX_IN|| !stream->desc.compute->host)return OX_OK;
memset(&step,0,sizeof step);
oxi_plan_operands(&plan,stream->desc.compute,call);
for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(plan.streamed[i]&&ox_numel(&plan.operand[i])>0)return OX_OK;
memcpy(step.source[i].layout.stride,plan.operand[i].stride,sizeof plan.operand[i].stride);}
return oxi_plan_compute(&plan.flow,0,&step);}
static ox_status oxi_stream_run(ox_device*self,const oxi_call*call){
ox_stream*stream=oxi_stream_of(self);
bool empty=true;
for(int i=0;i<call->out_count;i++)empty=empty&&ox_numel(call->out[i])==0;
if(empty)return oxi_stream_run_empty(stream,call);
if(call->op==OXI_OP_linear_experts)return oxi_stream_experts(call);
ox_status status=oxi_stream_enter(stream);
if(status!=OX_OK)return status;
stream->stats.calls++;
status=oxi_ring_settle(stream);
if(status==OX_OK)status=oxi_stream_run_locked(stream,call);
oxi_stream_unlock(stream);
return status;}
static ox_status oxi_stream_close(ox_device*self){
ox_stream*stream=oxi_stream_of(self);
if(oxi_stream_is_inherited(stream))return OX_OK;
oxi_stream_lock(stream);
oxi_stream_release(stream);
return OX_OK;}
static ox_status oxi_stream_sync(ox_device*self){
(void)self;
return OX_OK;}
static ox_status oxi_stream_hold(ox_device*self,bool holds){
ox_stream*stream=oxi_stream_of(self);
if(!holds){
return oxi_stream_close(self);}
ox_status status=oxi_stream_enter(stream);
if(status!=OX_OK)return status;
stream->references++;
oxi_stream_unlock(stream);
return OX_OK;}
static ox_storage*oxi_stream_storage_of(oxi_stream_region*region){
ox_storage*storage=
 oxi_storage_borrow(&region->stream->device,region,region->bytes,oxi_stream_region_released,NULL);
if(storage)
storage->read_only= !region->file->writable;
else
oxi_stream_region_free(region);
return storage;}
static ox_status oxi_stream_region_storage(ox_stream*stream,const char*path,const oxi_file_id*id,
 uint64_t offset,size_t bytes,ox_storage**out){
oxi_stream_region*region=NULL;
ox_status status=oxi_stream_enter(stream);
if(status!=OX_OK)return status;
status=oxi_stream_region_open(stream,path,id,offset,bytes,&region);
oxi_stream_unlock(stream);
if(status!=OX_OK)return status;
*out=oxi_stream_storage_of(region);
return*out?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_stream_open_region(ox_device*device,const char*path,const oxi_file_id*id,
 size_t offset,size_t bytes,ox_storage**out){
return oxi_stream_region_storage(oxi_stream_of(device),path,id,(uint64_t)offset,bytes,out);}
OX_API ox_tensor*ox_stream_raw(ox_stream*stream,const char*path,int64_t offset,ox_dtype dtype,
 ox_shape shape){
size_t bytes=0;
ox_tensor meta;
ox_storage*storage=NULL;
if(!stream|| !path||offset<0)
return OXI_FAIL_NULL(OX_ERR_ARG,"stream_raw: no stream, no path, or an offset of %lld",(long long)offset);
if(oxi_check_shape("stream_raw",dtype,shape.ndim,shape.dim,&bytes)!=OX_OK)return NULL;
if(oxi_stream_region_storage(stream,path,NULL,(uint64_t)offset,bytes,&storage)!=OX_OK)
return NULL;
oxi_meta(&meta,dtype,shape.ndim,shape.dim);
ox_tensor*t=oxi_tensor_over(storage,&meta);
oxi_storage_release(storage);
return t;}
static char*oxi_stream_named_path(const ox_stream*stream,const char*name,size_t*bytes){
bool usable=name&& *name&& *name!='.'&& !name[strcspn(name,"/\\:")];
if(!usable){
(void)oxi_fail(OX_ERR_ARG,"stream_named: %s cannot be the name of a file",name?OXI_QUOTE(name):"NULL");
return NULL;}
*bytes=strlen(stream->spill_folder)+strlen(name)+sizeof "/.safetensors";
char*path=(char*)oxi_alloc(*bytes);
if(path)(void)snprintf(path,*bytes,"%s/%s.safetensors",stream->spill_folder,name);
return path;}
OX_API ox_tensor*ox_stream_named(ox_stream*stream,const char*name,ox_dtype dtype,ox_shape shape){
size_t bytes=0,header_bytes=0,header_room=0,path_bytes=0;
ox_tensor meta,*t=NULL;
oxi_stream_region*region=NULL;
if(!stream)return OXI_FAIL_NULL(OX_ERR_ARG,"stream_named: no stream");
if(oxi_check_shape("stream_named",dtype,shape.ndim,shape.dim,&bytes)!=OX_OK)return NULL;
if(oxi_big_endian_host())
return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED,"stream_named: numbers of a file have the other byte order");
oxi_meta(&meta,dtype,shape.ndim,shape.dim);
char*path=oxi_stream_named_path(stream,name,&path_bytes),*header=NULL;
bool speaks=oxi_speak("stream_named");
if(path)header=oxi_save_header_of(name,&meta,OXI_STREAM_PAGE,&header_bytes,&header_room);
oxi_speak_end(speaks);
if(header&&oxi_stream_enter(stream)==OX_OK){
(void)oxi_named_open(stream,path,header,header_bytes,bytes,&region);
oxi_stream_unlock(stream);}
ox_storage*storage=region?oxi_stream_storage_of(region):NULL;
if(storage){
t=oxi_tensor_over(storage,&meta);
oxi_storage_release(storage);}
oxi_free(header,header_room);
oxi_free(path,path_bytes);
return t;}
static const char*oxi_stream_temporary(void){
static const char*const names[]={"TMPDIR","TEMP","TMP"};
for(size_t i=0;i<sizeof names/sizeof*names;i++){
const char*folder=getenv(names[i]);
if(folder&& *folder)return folder;}
#if defined(_WIN32)
return ".";
#else
return "/tmp";
#endif
}
static int oxi_stream_between(int value,int usual,int least,int most){
if(value==0)value=usual;
return value<least?least:value>most?most:value;}
static ox_status oxi_stream_describe(ox_stream_desc*desc){
const size_t page=OXI_STREAM_PAGE,least=4*page;
if(!desc->compute)desc->compute=ox_cpu();
if(desc->compute->partner)
return oxi_fail(OX_ERR_ARG,"stream_open: %s leaves computing to others",desc->compute->name);
if(desc->ram_bytes==0)desc->ram_bytes=oxi_available_memory()/2;
desc->depth=oxi_stream_between(desc->depth,4,OXI_STREAM_LEAST_DEPTH,OXI_STREAM_WINDOW);
desc->queue=oxi_stream_between(desc->queue,32,1,256);
size_t most=desc->ram_bytes/(4*(size_t)desc->depth)/page*page;
if(desc->tile_bytes==0)desc->tile_bytes=most/2<(size_t)8<<20?most/2:(size_t)8<<20;
if(desc->tile_bytes<least)desc->tile_bytes=least;
if(desc->tile_bytes>SIZE_MAX/64)return oxi_fail(OX_ERR_ARG,"stream_open: tiles too large");
desc->tile_bytes=(desc->tile_bytes+page -1)/page*page;
if(desc->tile_bytes>most)
return oxi_fail(OX_ERR_ARG,
 "stream_open: a ring of %d tiles of %llu bytes needs a budget of %llu bytes, not %llu",
 2*desc->depth,(unsigned long long)desc->tile_bytes,
 4*(unsigned long long)desc->depth*desc->tile_bytes,(unsigned long long)desc->ram_bytes);
if(desc->result_bytes==0)desc->result_bytes=desc->ram_bytes/8;
if(!desc->spill|| !*desc->spill)desc->spill=oxi_stream_temporary();
return OX_OK;}
static void oxi_stream_make_device(ox_stream*stream){
static int64_t counter;
ox_device*device= &stream->device;
(void)snprintf(stream->name,sizeof stream->name,"stream:%lld",(long long)oxi_atomic_add(&counter,1)-1);
device->name=stream->name;
device->alloc=oxi_stream_alloc;
device->free=oxi_stream_give_back;
device->read=oxi_stream_read;
device->write=oxi_stream_write;
device->copy=oxi_stream_copy;
device->supports=oxi_stream_supports;
device->run=oxi_stream_run;
device->sync=oxi_stream_sync;
device->close=oxi_stream_close;
device->state=stream;
device->partner=stream->desc.compute;
device->partner_bytes=stream->desc.result_bytes;
device->region=oxi_stream_open_region;
device->hold=oxi_stream_hold;
device->statistics=oxi_stream_statistics;
device->budget=oxi_stream_budget;}
OX_API ox_stream*ox_stream_open(const ox_stream_desc*desc){
ox_stream_desc filled;
memset(&filled,0,sizeof filled);
if(desc)filled= *desc;
if(oxi_stream_describe(&filled)!=OX_OK)return NULL;
size_t base=ox_memory_get_stats().bytes_in_use;
ox_stream*stream=(ox_stream*)oxi_calloc(1,sizeof*stream);
if(!stream)return NULL;
#ifndef OX_NO_THREADS
static const oxi_mutex open_mutex=OXI_MUTEX_OPEN;
stream->lock=open_mutex;
#endif
stream->references=1;
stream->forks=oxi_forks();
stream->desc=filled;
stream->base_bytes=base;
stream->pace.sets_tile= !desc||desc->tile_bytes==0;
stream->pace.sets_depth= !desc||desc->depth==0;
stream->spill_folder_bytes=strlen(filled.spill)+1;
stream->spill_folder=(char*)oxi_alloc(stream->spill_folder_bytes);
oxi_stream_make_device(stream);
oxi_reader_open(&stream->reader,&stream->desc);
if(stream->spill_folder&&oxi_ring_open(stream)==OX_OK){
memcpy(stream->spill_folder,filled.spill,stream->spill_folder_bytes);
stream->desc.spill=stream->spill_folder;
return stream;}
oxi_stream_free(stream);
return NULL;}
OX_API ox_device*ox_stream_device(ox_stream*stream){
if(!stream)(void)oxi_fail_missing("stream_device: the stream");
return stream? &stream->device:NULL;}
OX_API ox_stream_stats ox_stream_get_stats(ox_stream*stream){
ox_stream_stats stats;
memset(&stats,0,sizeof stats);
if(!stream||oxi_stream_is_inherited(stream))return stats;
oxi_stream_lock(stream);
stats=stream->stats;
stats.ring_bytes=stream->ring_block_bytes;
stats.kept_bytes=stream->slab_bytes;
stats.uring=stream->reader.uses_uring;
stats.tile_bytes=stream->desc.tile_bytes;
stats.depth=stream->desc.depth;
stats.bandwidth=stream->pace.bandwidth;
stats.latency=stream->pace.latency;
stats.ahead_bytes=oxi_ring_ahead(stream);
if(stream->busy_seconds>0)stats.overlap=1-stats.stall_seconds/stream->busy_seconds;
if(stats.overlap<0)stats.overlap=0;
oxi_stream_unlock(stream);
return stats;}
#endif
