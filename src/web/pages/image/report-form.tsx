import { MAX_NOTE_LENGTH } from '../../../core/images/reports.js'
import { useTexts } from '../../texts/texts.js'

interface ReportFormProps {
  readonly slug: string
  /** What was typed, after a mistake. */
  readonly reason?: string
  readonly note?: string
}

/** Why an image should be looked at, for everybody. */
export const ReportForm = ({ slug, reason, note }: ReportFormProps) => {
  const words = useTexts().image.report
  return (
    <form class="report stack" method="post" action={`/image/${slug}/report`}>
      <div class="field">
        <label for="report-reason">{words.reason}</label>
        <select id="report-reason" name="reason" required>
          <option value="">{words.choose}</option>
          {Object.entries(words.reasons).map(([value, name]) => (
            <option value={value} selected={value === reason}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for="report-note">{words.note}</label>
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
          {words.noteHint}
        </p>
      </div>
      <button type="submit">{words.send}</button>
    </form>
  )
}

/** The same below a public image, opened with a press. */
export const ReportDetails = ({ slug }: { slug: string }) => (
  <details>
    <summary>{useTexts().image.report.open}</summary>
    <ReportForm slug={slug} />
  </details>
)
