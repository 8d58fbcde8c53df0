import { dirname, extname, isAbsolute, join, normalize } from 'node:path'
import { DEFAULT_SITE, type Site } from '../core/site.js'
import { FileFault, readBytes } from '../lib/json-file.js'
import { accentFaults, accentSheet } from '../web/shared/accent.js'
import { type Asset, asset, CSS } from '../web/shared/assets.js'
import { type Config, ConfigError } from './config.js'
import { NO_SITE_FILE, readSiteFile, type SiteFile } from './site-file.js'

type Origins = Pick<Config, 'baseUrl' | 'cdnBaseUrl'>

const KIB = 1024
/** Every page loads the mark. */
const MARK_LIMIT = 100 * KIB
const PICTURE_LIMIT = 1024 * KIB

/**
 * What this installation shows of itself, with the files that it serves for that.
 * @throws ConfigError with one sentence that names the file and all that is wrong with it
 */
export function openSite(config: Pick<Config, 'site' | 'stripe'> & Origins): { site: Site; assets: Asset[] } {
  const { name, file } = config.site
  /** By their URLs: two pictures may be the same. */
  const assets = new Map<string, Asset>()
  const serve = (made: Asset) => {
    assets.set(made.url, made)
    return made
  }
  try {
    const given = file === undefined ? NO_SITE_FILE : readSiteFile(file)
    const { plan, more, ...links } = given.links
    const site = {
      name: name ?? given.name ?? DEFAULT_SITE.name,
      ...lookOf(given, dirname(file ?? ''), config, serve),
      links,
      moreLinks: more,
      // Who sells plans has a page for it.
      planHref: config.stripe ? undefined : plan,
    }
    return { site, assets: [...assets.values()] }
  } catch (error) {
    if (error instanceof FileFault) throw new ConfigError(`SITE_FILE: the file ${file} ${error.message}.`)
    throw error
  }
}

/** Reads the files that `given` names, and checks the accent. @throws FileFault with all that is wrong */
function lookOf({ mark, accent, home }: SiteFile, folder: string, origins: Origins, serve: (made: Asset) => Asset) {
  const problems: string[] = []
  const image = (place: string, name: string, limit: number) => {
    try {
      return serve(imageAsset(folder, name, limit))
    } catch (error) {
      if (!(error instanceof FileFault)) throw error
      problems.push(`${place}: ${name} ${error.message}`)
      return undefined
    }
  }
  const made = mark === undefined ? undefined : image('mark', mark, MARK_LIMIT)
  const pictures = home.pictures?.map(({ src, ...words }, i) => {
    const place = `home.pictures[${i}].src`
    const url = isUrl(src) ? src : (image(place, src, PICTURE_LIMIT)?.url ?? '')
    if (isUrl(src) && !isOnOwnHost(src, origins)) problems.push(`${place}: ${elsewhere(origins)}`)
    return { url, ...words }
  })
  for (const [scheme, problem] of accent ? accentFaults(accent) : []) problems.push(`accent.${scheme}: ${problem}`)
  if (problems.length > 0) throw new FileFault(`can't be used: ${problems.join('; ')}`)
  return {
    mark: made && { url: made.url, type: made.type },
    accentUrl: accent && serve(asset('accent.css', CSS, accentSheet(accent))).url,
    home: { ...home, pictures },
  }
}

const isUrl = (src: string) => /^(\/|[a-z]+:)/i.test(src)

/** Pages load images from these alone. */
const hostsOf = ({ baseUrl, cdnBaseUrl }: Origins) => [...new Set([baseUrl, new URL(cdnBaseUrl).origin])]
const elsewhere = (origins: Origins) =>
  `must be a file beside this one, or begin with / or ${hostsOf(origins).join('/ or ')}/, because pages load images from nowhere else`

function isOnOwnHost(src: string, origins: Origins): boolean {
  const [own = ''] = hostsOf(origins)
  return URL.canParse(src, own) && hostsOf(origins).includes(new URL(src, own).origin)
}

/** What a file of this type begins with. */
const TYPES: readonly (readonly [ending: string, type: string, begins: RegExp])[] = [
  ['.svg', 'image/svg+xml', /^(\xef\xbb\xbf)?\s*<(.*<)?svg[\s>]/s],
  ['.png', 'image/png', /^\x89PNG\r\n/],
  ['.webp', 'image/webp', /^RIFF.{4}WEBP/s],
  ['.jpg', 'image/jpeg', /^\xff\xd8\xff/],
]

/** @throws FileFault */
function imageAsset(folder: string, name: string, limit: number): Asset {
  if (isAbsolute(name) || normalize(name).startsWith('..'))
    throw new FileFault('must be the name of a file in the same folder or below it')
  const body = readBytes(join(folder, name))
  if (body.length > limit)
    throw new FileFault(`has ${Math.ceil(body.length / KIB)} KiB, more than ${limit / KIB}: make it smaller`)
  const start = body.subarray(0, 4096).toString('latin1')
  const [ending, type] = TYPES.find(([, , begins]) => begins.test(start)) ?? []
  const own = extname(name).toLowerCase().replace('.jpeg', '.jpg')
  if (!ending || !type || own !== ending)
    throw new FileFault(`must be an SVG, PNG, WebP or JPEG image, with the ending of its kind`)
  return asset(`site${ending}`, type, body)
}
