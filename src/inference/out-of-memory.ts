/**
 * How drivers, libraries and frameworks say that memory could not be had. Each names an allocation that failed: a text
 * that only mentions memory (an illegal access, a shared memory file, a memory format) is another fault.
 */
const OUT_OF_MEMORY = [
  // PyTorch on CUDA, HIP, MPS, XPU, NPU, …; cudaMalloc, XLA, oneDNN, TensorRT, Level Zero, Linux
  /(?<![a-z])out[ _-]?of[ _-]?((device|host|gpu|pool|video|system)[ _-]?)?(memory|v?ram\b)(?! (check|handler|killer is (off|disabled)|protection|access))/i,
  // CUDA's and HIP's codes; Vulkan's and .NET's exceptions; Metal's codes
  /OutOf(Device|Host|Pool)?Memory|ErrorMemoryAllocation\b/,
  /\boom\b(?!-(?!kill))|(?<![a-z])(Array)?MemoryError\b|\btried to allocate \d/i,
  // cuBLAS, cuDNN, cuSOLVER, hipBLAS, rocBLAS, MIOpen; OpenCL, SYCL, Level Zero, Ascend; Vulkan's other codes
  /ALLOC(ATION)?_?FAIL(ED|URE)\b|status_memory_error|ERROR_RT_MEMORY_ALLOCATION\b|(INSUFFICIENT|OUT_OF)_RESOURCES\b/i,
  /Error(_?Memory_?Map_?Failed|_?Fragmented_?Pool)\b|\bout of GPU resources\b/i,
  // The libraries' first call that needs memory, and PyTorch where it can't ask how much is left
  /CUBLAS_STATUS_NOT_INITIALIZED\b.*Create|CUDNN_STATUS_NOT_INITIALIZED\b|INTERNAL ASSERT FAILED.*CachingAllocator/,
  // PyTorch asks cuDNN for less and less memory before it says so
  /\bUnable to find a valid cuDNN algorithm\b/i,
  // Linux, Windows
  /\b(ENOMEM|E_OUTOFMEMORY|(0x)?8007000E|(0x)?C0000017|STATUS_NO_MEMORY)\b|-2147024882\b|\[Errno 12\]/i,
  /\[WinError (8|14|1450|1453|1455|1816)\]|paging file is too small/i,
  // The C++ library, ggml, stable-diffusion.cpp, ncnn, MLX, Apple's MPS, Rust, JavaScript
  /\bbad[ _]alloc(ation)?\b|malloc\w*(\(\))? failed\b|\bvkAllocateMemory failed\b|malloc\] Resource limit\b/i,
  /\b(can ?not|can't|could not|couldn't|unable to|failed to) (alloc(ate)?|reserve) (?!(an? )?(port|slot|worker|session|id|address|seed|task|job|thread)\b)(?!.*\bstatic TLS\b).*?(memory|buffer|tensor|bytes|v?ram\b|\d ?[KMGT]i?B\b|array)/i,
  /\b(memory|buffers?|tensor|USM) alloc(ation)? fail(ed|ure)\b|\balloc(ation)? of (size )?[\d.]+ ?\w* failed\b/i,
  /\balloc(ate)? (\w+ ){0,3}(buffers?|memory) failed\b|\bAllocation on device\b/i,
  /\bgreater than the maximum allowed buffer size|\bInvalid buffer size: [\d.]+ ?[KMGT]i?B|\bbytes of NDArray > 2/i,
  // DirectML, A1111's own check, Metal, TensorRT; OpenVINO; ONNX Runtime; Ollama
  /(\bnot|n't) (have )?enough ([\w.]+ ){0,3}(memory|v?ram)\b|NOT_ENOUGH_MEMORY\b|\binsufficient (\w+ ){0,3}(memory|v?ram)\b/i,
  /\bno (more |free )?(memory|v?ram) (left|available)\b|\b(memory|v?ram)( limit)? (is |was )?(exhausted|exceeded|full)\b/i,
  /\bexceed(s|ed)? (the )?((available|allowed|free|total|device|gpu|system) )+(memory|vram)\b|\bexceeded max size of memory\b/i,
  /\b(requires?|needs?) .{0,30}\b(memory|v?ram)\b(?! format).{0,30}\b(than|only)\b/i,
  /\bavailable memory of \d+ is smaller than requested\b|\bmemory \(?\d* ?bytes\)? could not be allocated/i,
  // XLA and Paddle; elsewhere it may be a quota
  /\bRESOURCE[_ ]?EXHAUSTED(Error)?\b.*\b(memory|alloc\w*|bytes|hbm)\b/is,
] as const

/** Advice on memory is in many other messages, and may name what it avoids. */
const ADVICE =
  /\b(avoid|prevent|reduces?|against|without|unrelated to|in case of|not|never|if( \w+){0,4}) (an? |any |run(s|ning)? |going |getting |into )*(out[ -]of[ -](memory|vram)|oom)\b( errors?| issues?)?/gi

const MOST_CHARACTERS = 10_000

/**
 * As much of a server's words as is looked at: they begin or end with what went wrong. Looking at all that it may send
 * could take hours, in which this process would do nothing else.
 */
export const briefly = (words: string): string =>
  words.length <= MOST_CHARACTERS
    ? words
    : `${words.slice(0, MOST_CHARACTERS / 2)}\n${words.slice(-MOST_CHARACTERS / 2)}`

/** Whether a server's words say that it ran out of memory, of the GPU or of its own. */
export const saysOutOfMemory = (words: string): boolean => {
  const said = briefly(words).replace(ADVICE, '')
  return OUT_OF_MEMORY.some((form) => form.test(said))
}
