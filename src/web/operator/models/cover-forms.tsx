import { coverPath } from '../../../core/catalog/cover.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { ReasonField } from '../../parts/operator-forms.js'
import { Field } from '../../parts/page-parts.js'

export const MAX_COVER_MB = 5

/** A version's picture: a published image, a file, or the one that is drawn. */
export const CoverForms = ({ model, image = '' }: { model: ModelVersion; image?: string | undefined }) => (
  <section class="card stack" aria-labelledby="cover">
    <h2 id="cover">Picture</h2>
    <img class="cover" src={coverPath(model)} alt="As it is now" width="192" height="128" />
    <form class="stack" method="post" action={`/operator/models/${model.id}/cover`}>
      <Field
        id="image"
        label="A public image"
        value={image}
        required
        autocomplete="off"
        hint="The address of its page or file. If it is taken down, the picture becomes a drawn one."
      />
      <ReasonField id="why-image" label="Why this image" />
      <div class="row">
        <button type="submit">Use this image</button>
      </div>
    </form>
    <hr />
    <form class="stack" method="post" action={`/operator/models/${model.id}/cover-file`} enctype="multipart/form-data">
      <Field
        id="file"
        label="A file"
        type="file"
        accept="image/png,image/jpeg,image/webp"
        required
        hint={`A PNG, JPEG or WebP of up to ${MAX_COVER_MB} MB. It is cut to three by two.`}
      />
      <ReasonField id="why-file" label="Why this file" />
      <div class="row">
        <button type="submit">Upload</button>
      </div>
    </form>
    {model.cover && (
      <>
        <hr />
        <form class="stack" method="post" action={`/operator/models/${model.id}/cover-remove`}>
          <ReasonField id="why-none" label="Why none" />
          <div class="row">
            <button class="danger" type="submit">
              Remove the picture
            </button>
          </div>
        </form>
      </>
    )}
  </section>
)
