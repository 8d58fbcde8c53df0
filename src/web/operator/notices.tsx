interface NoticesProps {
  /** What was done. */
  readonly done?: string | undefined
  /** Why nothing was done. */
  readonly problem?: string | undefined
}

/** What came of the form that led here. */
export const Notices = ({ done, problem }: NoticesProps) => (
  <>
    {done && (
      <p class="done" role="status">
        {done}
      </p>
    )}
    {problem && (
      <p class="problem" role="alert">
        {problem}
      </p>
    )}
  </>
)
