interface PagerProps {
  /** Undefined on the first page. */
  readonly first: string | undefined
  /** Undefined on the last one. */
  readonly next: string | undefined
}

/** The way to the next page of a list, and back to its beginning. */
export const Pager = ({ first, next }: PagerProps) =>
  first || next ? (
    <nav class="row pages" aria-label="Pages">
      {first && (
        <a class="button small" href={first}>
          First page
        </a>
      )}
      {next && (
        <a class="button small" href={next}>
          Next page
        </a>
      )}
    </nav>
  ) : null
