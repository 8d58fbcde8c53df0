/** IPTC's word for "made by a generative model", as search engines and platforms read it: https://cv.iptc.org/newscodes/digitalsourcetype/ */
const TRAINED_ALGORITHMIC_MEDIA = 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia'
/** The packet identifier that the XMP specification (ISO 16684-1) fixes for every packet. */
const PACKET_ID = 'W5M0MpCehiHzreSzNTczkc9d'

/** The XMP packet of a generated picture: how it was made, with which model and seed, and nothing of who asked for what. */
export function generatedByAi({ seed, model }: { readonly seed: number; readonly model: string }): string {
  return [
    `<?xpacket begin="\uFEFF" id="${PACKET_ID}"?>`,
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about=""',
    ' xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
    ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
    ' xmlns:easel="urn:easel:generation#">',
    '<xmp:CreatorTool>Easel</xmp:CreatorTool>',
    `<Iptc4xmpExt:DigitalSourceType>${TRAINED_ALGORITHMIC_MEDIA}</Iptc4xmpExt:DigitalSourceType>`,
    `<easel:seed>${seed}</easel:seed>`,
    `<easel:model>${xmlText(model)}</easel:model>`,
    '</rdf:Description>',
    '</rdf:RDF>',
    '</x:xmpmeta>',
    '<?xpacket end="r"?>',
  ].join('\n')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** Control characters, lone surrogates and non-characters have no place in XML 1.0, not even escaped. */
const xmlText = (text: string) =>
  text.replace(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
