/**
 * How drivers, libraries and frameworks say that memory could not be had. Each names an allocation that failed: a text
 * that only mentions memory (an illegal access, a shared memory file, a memory format) is another fault.
 */
const OUT_OF_MEMORY = [
  // PyTorch on CUDA, HIP, MPS, XPU, NPU, …; cudaMalloc, XLA, oneDNN, TensorRT, Linux
  /(?<![a-z])out[ _-]?of[ _-]?((device|host|gpu|pool|video|system)[ _-]?)?memory(?! (check|handler|killer is (off|disabled)|protection|access))/i,
  /\bran out of (\w+ ){0,2}(memory|vram)\b/i,
  // CUDA's and HIP's codes; Python's, Vulkan's and .NET's exceptions; Metal's and Windows' codes
  /(OutOf(Device|Host|Pool)?Memory|(?<![A-Za-z])(Array)?MemoryError\b|ErrorMemoryAllocation\b|E_OUTOFMEMORY|8007000E)/i,
  /\bOOM\b(?!-)/,
  // cuBLAS, cuDNN, cuSOLVER, hipBLAS, rocBLAS, MIOpen; OpenCL, SYCL, Level Zero, Ascend
  /(ALLOC_FAILED|ALLOCATION_FAILED|AllocFailed|ALLOCATION_FAILURE|status_memory_error|ERROR_RT_MEMORY_ALLOCATION)\b/,
  /(CL|ERROR)_OUT_OF_RESOURCES\b/,
  /\bout of GPU resources\b/i,
  // The C++ library, Linux, Windows, Rust, JavaScript
  /\bbad[ _]alloc(ation)?\b|\bENOMEM\b|\[Errno 12\]|\bWinError (8|14|1450|1455)\]|paging file is too small/i,
  /\b(can ?not|can't|could not|couldn't|unable to|failed to) allocate (?!(an? )?(port|slot|worker|session|id|address|seed|task|job|thread)\b).*?(memory|buffer|tensor|bytes|\b[KMGT]i?B\b|array)/i,
  /\b(memory|buffers?|tensor) (allocation|alloc) (of (size )?[\d.]+ ?\w* )?failed\b|\bArray buffer allocation failed/i,
  // ggml, stable-diffusion.cpp, MLX, Apple's MPS, Ascend
  /\balloc(ate)? (\w+ ){0,3}(buffers?|memory) failed\b|\bAllocation on device\b/i,
  /\bgreater than the maximum allowed buffer size|\bInvalid buffer size: [\d.]+ ?[KMGT]i?B/i,
  /\bbuffer size exceeds (the )?device\b|\bexceeded max size of memory object allocation/i,
  // DirectML, A1111's own check, Metal, TensorRT; OpenVINO; ONNX Runtime
  /\b(not enough|insufficient) (free |available |system |gpu |video |host |device )*(memory|vram)\b/i,
  /\bavailable memory of \d+ is smaller than requested\b|\bmemory \(?\d* ?bytes\)? could not be allocated/i,
  // XLA and Paddle; elsewhere it may be a quota
  /\bRESOURCE[_ ]?EXHAUSTED(Error)?\b.*\b(memory|alloc\w*|bytes|hbm)\b/is,
  // PyTorch asks cuDNN for less and less memory before it says so
  /\bUnable to find a valid cuDNN algorithm\b/i,
] as const

/** Advice on memory is in many other messages, and may name what it avoids. */
const ADVICE =
  /\b(avoid|prevent|reduces?|against|without|unrelated to|in case of|if (you|it|this)( \w+){0,3}|is) (an? |any |running |going |getting |you're |not |never |into )*(out[ -]of[ -]memory|oom)\b( errors?| issues?)?/gi

/** Whether a server's words say that it ran out of memory, of the GPU or of its own. */
export const saysOutOfMemory = (words: string): boolean => {
  const said = words.replace(ADVICE, '')
  return OUT_OF_MEMORY.some((form) => form.test(said))
}
