import { MAX_NOTE_LENGTH, REPORT_REASONS } from '../../../core/images/reports.js'

interface ReportFormProps {
  readonly slug: string
  /** What was typed, after a mistake. */
  readonly reason?: string
  readonly note?: string
}

/** Why an image should be looked at, for everybody. */
export const ReportForm = ({ slug, reason, note }: ReportFormProps) => (
  <form class="report stack" method="post" action={`/image/${slug}/report`}>
    <div class="field">
      <label for="report-reason">What is wrong with it?</label>
      <select id="report-reason" name="reason" required>
        <option value="">Choose a reason</option>
        {Object.entries(REPORT_REASONS).map(([value, words]) => (
          <option value={value} selected={value === reason}>
            {words}
          </option>
        ))}
      </select>
    </div>
    <div class="field">
      <label for="report-note">What operators should know</label>
      <textarea
        id="report-note"
        name="note"
        dir="auto"
        maxlength={MAX_NOTE_LENGTH}
        aria-describedby="report-note-hint"
        rows={4}
      >
        {note}
      </textarea>
      <p id="report-note-hint" class="quiet small">
        Optional. They are not told who reports: add how to reach you if they should answer.
      </p>
    </div>
    <button type="submit">Send report</button>
  </form>
)

/** The same below a public image, opened with a press. */
export const ReportDetails = ({ slug }: { slug: string }) => (
  <details>
    <summary>Report this image</summary>
    <ReportForm slug={slug} />
  </details>
)
