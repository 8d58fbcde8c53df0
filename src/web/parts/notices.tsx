interface NoticesProps {
  /** What was done. */
  readonly done?: string | undefined
  /** Why nothing was done. */
  readonly problem?: string | undefined
  /** Where the part of the page that had the focus was exchanged. */
  readonly takesFocus?: boolean
}

/** What came of the form that led here. */
export const Notices = ({ done, problem, takesFocus = false }: NoticesProps) => (
  <>
    {done && (
      <p class="done" role="status" {...(takesFocus && { tabindex: -1, autofocus: true })}>
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
