/**
 * A prompt without the tag in which stable-diffusion.cpp's compatible APIs obey JSON: it would let a user change size,
 * count and seed. Repeated, because what is left may form the tag anew.
 */
export function withoutExtraArgs(prompt: string): string {
  const withoutElements = prompt.replace(/<sd_cpp_extra_args>.*?<\/sd_cpp_extra_args>/gs, '')
  if (withoutElements !== prompt) return withoutExtraArgs(withoutElements)
  const withoutTags = prompt.replace(/<\/?sd_cpp_extra_args>/g, '')
  return withoutTags === prompt ? prompt : withoutExtraArgs(withoutTags)
}
