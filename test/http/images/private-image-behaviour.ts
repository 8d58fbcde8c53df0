/** What is so wherever images are stored: `private-images.test.ts` asks a directory, `private-images.long.test.ts` a bucket. */
import { beforeAll, expect, it } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { reconcileImages } from '../../../src/core/images/reconcile-images.js'
import { imageInventory } from '../../../src/db/images/image-inventory.js'
import { imageMoves, imagePrivacy } from '../../../src/db/images/privacy.js'
import { imageRemovals } from '../../../src/db/images/removals.js'
import { auditService } from '../../../src/process/audit-service.js'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { call } from '../../support/client.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import type { Service } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const PRIVATE_HEADERS = { 'cache-control': 'private, no-store', 'cross-origin-resource-policy': 'same-origin' }

/** With other unused bits in the last of 43 letters: a decoder makes the same 32 bytes of it. */
function otherLastLetter(signature: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return signature.slice(0, -1) + letters[letters.indexOf(signature.at(-1) as string) ^ 1]
}

/** To be called in a `describe`. @param context its service draws */
export function aPrivateImage(context: { readonly service: Service }): void {
  let service: Service
  let owner: GivenUser
  let cookie: string
  let strangers: readonly (string | undefined)[]
  let operator: string
  beforeAll(async () => {
    service = context.service
    owner = await givenUser(service.db, { credits: 1000 })
    cookie = await givenSession(service.db, owner)
    strangers = [undefined, await givenSession(service.db, await givenUser(service.db))]
    operator = (await givenOperator(service.db)).cookie
  })

  const files = () => wholeImageStore(service.config, service.db)
  const get = (path: string, as?: string, method = 'GET', headers = {}) =>
    fetch(service.url + path, {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html', ...(as && { cookie: as }), ...headers },
    })
  const statusOf = async (path: string, as?: string) => (await get(path, as)).status
  const ending = async (slug: string) =>
    until(
      async () => (await service.db.pool.query('SELECT FROM image_moves WHERE slug = $1', [slug])).rowCount === 0,
      'the end of the move',
    )
  const setPrivate = (slug: string, isPrivate: boolean, as = cookie) =>
    visit(service.url, `/image/${slug}/privacy`, { cookie: as, body: { private: isPrivate ? '1' : '' } })

  async function givenImage(): Promise<string> {
    const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
    const answer = await call(service.url, 'POST', '/v1/images/generate', { key: owner.key, body })
    return answer.body.data.image_id as string
  }
  async function givenPrivate(): Promise<string> {
    const slug = await givenImage()
    expect((await setPrivate(slug, true)).location).toBe(`/image/${slug}#privacy`)
    await ending(slug)
    return slug
  }
  async function signedLink(slug: string): Promise<{ page: string; file: string }> {
    const { html } = await visit(service.url, `/image/${slug}?link=hour`, { cookie })
    const url = new URL(textOf(/<pre id="signed-link"[^>]*>(.*?)<\/pre>/s.exec(html)?.[1] ?? '').trim())
    return { page: url.pathname + url.search, file: `/cdn/${slug}.png${url.search}` }
  }

  it('is shown to its owner and to operators; to strangers its page and files are like ones that never were', async () => {
    const slug = await givenPrivate()
    const unknown = newSlug()
    for (const as of strangers) {
      for (const path of ['/image/SLUG', '/cdn/SLUG.png', '/cdn/SLUG.webp']) {
        const [theirs, none] = [await get(path.replace('SLUG', slug), as), await get(path.replace('SLUG', unknown), as)]
        expect([path, theirs.status]).toEqual([path, 404])
        expect((await theirs.text()).replaceAll(slug, unknown)).toBe(await none.text())
        const said = ({ headers }: Response) => ['cache-control', 'vary', 'content-type'].map((it) => headers.get(it))
        expect(said(theirs)).toEqual(said(none))
        expect((await get(path.replace('SLUG', slug), as, 'HEAD')).status).toBe(404)
      }
      expect(await statusOf(`/image/${slug}/download`, as)).not.toBe(200)
      expect(await statusOf(`/compare/${slug}/${slug}`, as)).not.toBe(200)
    }
    for (const as of [cookie, operator]) {
      const page = await get(`/image/${slug}`, as)
      expect([page.status, (await page.text()).includes(`src="/cdn/${slug}.png"`)]).toEqual([200, true])
      for (const [name, type] of [
        [`${slug}.png`, 'image/png'],
        [`${slug}.webp`, 'image/webp'],
      ] as const) {
        const file = await get(`/cdn/${name}`, as)
        expect([name, file.status, file.headers.get('content-type')]).toEqual([name, 200, type])
        for (const [header, value] of Object.entries(PRIVATE_HEADERS)) expect(file.headers.get(header)).toBe(value)
        expect(file.headers.get('access-control-allow-origin')).toBeNull()
        await file.arrayBuffer()
      }
    }
    expect(await statusOf(`/image/${slug}/download`, cookie)).toBe(200)
    expect(await statusOf(`/image/${slug}/download`, operator)).toBe(404)
  })

  it('has its files where no public address leads, and keeps them whole', async () => {
    const slug = await givenPrivate()
    const { publicFiles, privateFiles } = files()
    expect(await publicFiles.exists(slug)).toBe(false)
    const { rows } = await service.db.pool.query('SELECT sha256 FROM images WHERE slug = $1', [slug])
    expect(await privateFiles.sha256(slug, 'png')).toBe(rows[0].sha256)
    expect(await privateFiles.sha256(slug, 'webp')).toBeDefined()
    for (const path of [`/cdn/private/${slug}.png`, `/cdn/private%2F${slug}.png`, `/cdn/../cdn/private/${slug}.png`])
      expect([path, await statusOf(path, cookie)]).toEqual([path, 404])
  })

  it('is shown to who has a link that its owner made, until that ends, and no other image with it', async () => {
    const [slug, other] = [await givenPrivate(), await givenPrivate()]
    const { page, file } = await signedLink(slug)
    for (const as of strangers) {
      const shown = await get(page, as)
      const html = await shown.text()
      expect(shown.status).toBe(200)
      expect(html).not.toContain('a lighthouse')
      expect(html).not.toContain('og:image')
      const src = /<img src="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') as string
      expect(src).toBe(file)
      const image = await get(src, as)
      expect([image.status, image.headers.get('cache-control')]).toEqual([200, 'private, no-store'])
      await image.arrayBuffer()
      expect(await statusOf(file.replace('.png', '.webp'), as)).toBe(200)
    }
    const [, query] = file.split('?') as [string, string]
    const params = new URLSearchParams(query)
    const changed = (name: string, value: string) =>
      new URLSearchParams({ ...Object.fromEntries(params), [name]: value })
    const signature = params.get('signature') as string
    const tampered = [
      changed('expires', `${Number(params.get('expires')) + 1}`),
      changed('expires', '1'),
      changed('expires', 'x'),
      changed('signature', `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`),
      changed('signature', signature.slice(1)),
      changed('signature', ''),
      // A decoder of base64url would pass over all of this.
      ...['=', '==', '.', ' ', '\n', '\0', '%', '~junk', 'é'].map((junk) => changed('signature', signature + junk)),
      ...['=', ' ', '\t'].map((junk) => changed('signature', junk + signature)),
      changed('signature', `${signature.slice(0, 20)} ${signature.slice(20)}`),
      changed('signature', otherLastLetter(signature)),
      ...['0', '+', ' '].map((before) => changed('expires', before + params.get('expires'))),
      ...['.0', ' ', 'e0', '\n'].map((behind) => changed('expires', params.get('expires') + behind)),
      `${query}&signature=${signature}`,
      `${query}&expires=${params.get('expires')}`,
      '',
    ]
    const paths = [`/cdn/${slug}.png`, `/image/${slug}`].flatMap((path) => tampered.map((wrong) => `${path}?${wrong}`))
    const shown = await Promise.all(paths.map(async (path) => ({ path, status: await statusOf(path) })))
    expect(shown.filter(({ status }) => status !== 404)).toEqual([])
    expect(await statusOf(`/cdn/${other}.png?${query}`)).toBe(404)
    expect(await statusOf(`/image/${other}?${query}`)).toBe(404)
    expect(await statusOf(`/image/${slug}/download?${query}`)).not.toBe(200)
  })

  it('is not shown with links that its owner has taken back, and with those that were made since', async () => {
    const [slug, other] = [await givenPrivate(), await givenPrivate()]
    const [before, ofOther] = [await signedLink(slug), await signedLink(other)]
    const revoke = (as?: string) =>
      visit(service.url, `/image/${slug}/revoke-links`, { body: {}, ...(as !== undefined && { cookie: as }) })
    expect((await revoke()).location).toMatch(/sign-in/)
    for (const as of [strangers[1], operator]) expect((await revoke(as)).status).toBe(404)
    expect(await statusOf(before.file)).toBe(200)
    expect((await revoke(cookie)).location).toBe(`/image/${slug}?revoked=#privacy`)
    const { html } = await visit(service.url, `/image/${slug}?revoked=`, { cookie })
    expect(html).toContain('All links to this image were taken back.')
    const since = await signedLink(slug)
    for (const [path, status] of [
      [before.file, 404],
      [before.page, 404],
      [since.file, 200],
      [since.page, 200],
      [ofOther.file, 200],
    ] as const)
      expect([path, await statusOf(path)]).toEqual([path, status])
    await revoke(cookie)
    expect(await statusOf(since.file)).toBe(404)
  })

  it('gets its permanent address back when it becomes public', async () => {
    const slug = await givenPrivate()
    const { file } = await signedLink(slug)
    await setPrivate(slug, false)
    // At once, wherever the files are now.
    expect(await statusOf(`/cdn/${slug}.png`)).toBe(200)
    await ending(slug)
    const answer = await get(`/cdn/${slug}.png`)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    await answer.arrayBuffer()
    expect(await statusOf(file)).toBe(200)
    expect(await statusOf(`/image/${slug}`)).toBe(200)
    expect(await files().privateFiles.exists(slug)).toBe(false)
  })

  it('is made private or public by its owner only', async () => {
    const slug = await givenImage()
    for (const as of [strangers[1] as string, operator]) expect((await setPrivate(slug, true, as)).status).toBe(404)
    expect((await visit(service.url, `/image/${slug}/privacy`, { body: { private: '1' } })).location).toMatch(/sign-in/)
    await visit(service.url, '/gallery/selection', {
      cookie: strangers[1],
      body: { slug, act: 'private', back: '/gallery' },
    })
    expect(await statusOf(`/cdn/${slug}.png`)).toBe(200)
    await visit(service.url, '/gallery/selection', { cookie, body: { slug, act: 'private', back: '/gallery' } })
    await ending(slug)
    expect(await statusOf(`/cdn/${slug}.png`)).toBe(404)
    expect((await visit(service.url, '/gallery', { cookie })).html).toContain('Private')
    await visit(service.url, '/gallery/selection', { cookie, body: { slug, act: 'public', back: '/gallery' } })
    expect(await statusOf(`/cdn/${slug}.png`)).toBe(200)
  })

  it('is in the API of its owner as before, with its file, and in the ZIP', async () => {
    const slug = await givenPrivate()
    const { key } = owner
    const { body } = await call(service.url, 'GET', `/api/v1/images/${slug}`, { key })
    expect(body.url).toMatch(new RegExp(`/cdn/${slug}\\.png$`))
    const bearer = { authorization: `Bearer ${key}` }
    expect((await get(`/api/v1/images/${slug}/file`, undefined, 'GET', bearer)).status).toBe(200)
    // A key opens no public address.
    expect((await get(`/cdn/${slug}.png`, undefined, 'GET', bearer)).status).toBe(404)
    const zip = await fetch(`${service.url}/gallery/selection`, {
      method: 'POST',
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ slug, act: 'download' }),
    })
    expect(Buffer.from(await zip.arrayBuffer()).includes('missing.txt')).toBe(false)
  })

  it('leaves no file anywhere when it is taken down, and is a 404 for strangers', async () => {
    const slug = await givenPrivate()
    const { status } = await call(service.url, 'DELETE', `/api/v1/images/${slug}`, { key: owner.key })
    expect(status).toBe(204)
    await until(async () => !(await files().exists(slug)), 'the removal of the files')
    expect(await statusOf(`/image/${slug}`)).toBe(404)
    expect(await statusOf(`/image/${slug}`, cookie)).toBe(410)
    // By the release before, which knows of the public place only.
    const other = await givenPrivate()
    await imageRemovals(service.db).remove(other, undefined)
    await service.db.pool.query('DELETE FROM takedowns WHERE slug = $1', [other])
    await until(async () => !(await files().exists(other)), 'the removal of the other files')
    await ending(other)
  })

  it('ends where it belongs wherever a move was cut short, and however often its owner changed it', async () => {
    const { publicFiles, privateFiles } = files()
    const { db } = service
    const slug = await givenImage()
    const png = (await publicFiles.read(slug)) as Buffer
    const thumbnail = await publicFiles.readThumbnail(slug)
    // Copied, and not removed.
    await privateFiles.put(slug, png, { thumbnail })
    await imagePrivacy(db).set(owner.id, [slug], true)
    await ending(slug)
    expect([await publicFiles.exists(slug), await privateFiles.sha256(slug, 'png')]).toEqual([
      false,
      await files().sha256(slug, 'png'),
    ])
    // Only half of it removed.
    await publicFiles.put(slug, png, { thumbnail })
    await privateFiles.put(slug, png, {})
    await imagePrivacy(db).set(owner.id, [slug], false)
    await ending(slug)
    expect([await publicFiles.exists(slug), await privateFiles.exists(slug)]).toEqual([true, false])
    for (let n = 1; n <= 7; n++) await imagePrivacy(db).set(owner.id, [slug], n % 2 === 1)
    await ending(slug)
    expect([await publicFiles.exists(slug), await privateFiles.exists(slug)]).toEqual([false, true])
    expect(await files().sha256(slug, 'png')).toBeDefined()
  })

  it('that was changed while a server moved it is due again when that ends, and not before', async () => {
    const { db } = service
    // No server may claim it: only the claim below does.
    const slug = await givenImage()
    const moves = imageMoves(db)
    await db.pool.query(`INSERT INTO image_moves (slug) VALUES ($1)`, [slug])
    await ending(slug)
    await db.pool.query(`INSERT INTO image_moves (slug, due_at) VALUES ($1, now() + interval '1 hour')`, [slug])
    const seen = { slug, changes: 0, isPrivate: false, removed: false, sha256: '', hasThumbnail: false }
    await imagePrivacy(db).set(owner.id, [slug], true)
    const row = async () =>
      (await db.pool.query(`SELECT changes, due_at > now() AS waits FROM image_moves WHERE slug = $1`, [slug])).rows[0]
    expect(await row()).toEqual({ changes: 1, waits: true })
    await moves.finish(seen)
    await ending(slug)
    expect(await files().publicFiles.exists(slug)).toBe(false)
  })

  it('is a 404 for strangers as soon as that is stored, wherever its files still are, and its owner still sees it', async () => {
    const slug = await givenImage()
    const { publicFiles } = files()
    // No server may move it.
    await service.db.pool.query(`INSERT INTO image_moves (slug, due_at) VALUES ($1, now() + interval '1 hour')`, [slug])
    await setPrivate(slug, true)
    const { file } = await signedLink(slug)
    for (const name of [`${slug}.png`, `${slug}.webp`]) {
      for (const as of strangers)
        for (const method of ['GET', 'HEAD']) {
          const answer = await get(`/cdn/${name}`, as, method)
          expect([name, method, answer.status, answer.headers.get('cache-control')]).toEqual([
            ...[name, method, 404, 'no-store'],
          ])
        }
      for (const as of [cookie, operator]) {
        const answer = await get(`/cdn/${name}`, as)
        expect([name, answer.status]).toEqual([name, 200])
        for (const [header, value] of Object.entries(PRIVATE_HEADERS)) expect(answer.headers.get(header)).toBe(value)
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
        await answer.arrayBuffer()
      }
    }
    const linked = await get(file)
    expect([linked.status, linked.headers.get('cache-control')]).toEqual([200, 'private, no-store'])
    await linked.arrayBuffer()
    expect(await publicFiles.exists(slug)).toBe(true)
    await service.db.pool.query('UPDATE image_moves SET due_at = now() WHERE slug = $1', [slug])
    await ending(slug)
  })

  it('that was taken down is a 404 at once, though its file is still there', async () => {
    const slug = await givenImage()
    await imageRemovals(service.db).remove(slug, 'a test')
    const { publicFiles } = files()
    const left = () => service.db.pool.query('SELECT FROM takedowns WHERE slug = $1', [slug])
    await until(async () => (await left()).rowCount === 0, 'the end of the removal')
    await publicFiles.put(slug, Buffer.from('what the store has not removed yet'))
    expect(await statusOf(`/cdn/${slug}.png`)).toBe(404)
    await publicFiles.remove(slug)
  })

  it('whose file is back at its public address, as after a restore, is found by the audit and moved by the reconciler', async () => {
    const slug = await givenPrivate()
    const { publicFiles, privateFiles, ...whole } = files()
    await publicFiles.put(slug, (await whole.read(slug)) as Buffer)
    const violated = async () =>
      (await auditService(service.config, { sample: undefined, namespace: service.namespace }))
        .filter(({ violations }) => violations > 0)
        .map(({ name }) => name)
    expect(await violated()).toEqual(['private-images-have-no-public-file'])
    const { db } = service
    const ports = {
      inventory: imageInventory(db),
      removals: imageRemovals(db),
      store: { ...whole, publicFiles, privateFiles },
    }
    expect((await reconcileImages(ports, undefined)).misplaced).toEqual({ count: 1, examples: [slug] })
    await reconcileImages(ports, { reason: 'a test' })
    await ending(slug)
    expect([await publicFiles.exists(slug), await privateFiles.exists(slug)]).toEqual([false, true])
    expect(await violated()).toEqual([])
  })

  it('counts as a known, intact file in the audit', async () => {
    await givenPrivate()
    const checks = await auditService(service.config, { sample: undefined, namespace: service.namespace })
    const ofFiles = checks.filter(({ name }) => /file|stored/.test(name))
    expect(ofFiles.length).toBeGreaterThan(2)
    expect(ofFiles.filter(({ violations }) => violations > 0)).toEqual([])
  })
}
