import type { ComponentChildren } from 'preact'

/** Three small paintings of our own, as what prompts may become. */
export const Pictures = () => (
  <div class="pictures">
    <Picture prompt="a lighthouse at dusk">
      <Lighthouse />
    </Picture>
    <Picture prompt="a castle in the snow">
      <Castle />
    </Picture>
    <Picture prompt="balloons at dawn">
      <Balloons />
    </Picture>
  </div>
)

const Picture = ({ prompt, children }: { prompt: string; children: ComponentChildren }) => (
  <figure>
    <svg viewBox="0 0 240 330" role="img" aria-label={`A drawing of ${prompt}`}>
      {children}
    </svg>
    <figcaption>{prompt}</figcaption>
  </figure>
)

/** From the top down, each colour with its place in percent. */
const Gradient = ({ id, stops }: { id: string; stops: readonly (readonly [number, string])[] }) => (
  <linearGradient id={id} x1="0" y1="0" x2="0" y2="1">
    {stops.map(([offset, color]) => (
      <stop offset={`${offset}%`} stop-color={color} />
    ))}
  </linearGradient>
)

const Dots = ({ at, r, fill }: { at: readonly (readonly [number, number])[]; r: number; fill: string }) => (
  <g fill={fill}>
    {at.map(([x, y], index) => (
      <circle cx={x} cy={y} r={index % 3 === 0 ? r * 1.5 : r} />
    ))}
  </g>
)

const Lighthouse = () => (
  <>
    <defs>
      <Gradient
        id="dusk"
        stops={[
          [0, '#241f4d'],
          [38, '#6d3a78'],
          [66, '#d9655c'],
          [88, '#ffb679'],
          [100, '#ffd9a0'],
        ]}
      />
      <Gradient
        id="sea"
        stops={[
          [0, '#e98a68'],
          [22, '#8a4a78'],
          [100, '#1d1c48'],
        ]}
      />
      <radialGradient id="lamp">
        <stop offset="0" stop-color="#fff6cf" />
        <stop offset="1" stop-color="#fff0b0" stop-opacity="0" />
      </radialGradient>
      <linearGradient id="beam">
        <stop offset="0" stop-color="#fff3c4" stop-opacity="0.75" />
        <stop offset="1" stop-color="#fff3c4" stop-opacity="0" />
      </linearGradient>
    </defs>
    <path fill="url(#dusk)" d="M0 0h240v222H0z" />
    <Dots
      fill="#fff"
      r={0.7}
      at={[
        [22, 26],
        [58, 52],
        [96, 18],
        [131, 44],
        [176, 22],
        [214, 58],
        [40, 92],
        [202, 100],
        [150, 78],
      ]}
    />
    <circle cx="64" cy="214" r="30" fill="#fff0c4" />
    <path fill="#b7567a" opacity="0.55" d="M0 150q40-12 88-4t74-6 78 4v8q-44-6-84 2t-80 2-76 2z" />
    <path fill="#ffcf98" opacity="0.5" d="M0 186q60-9 116-2t124-6v6q-60 4-124 8T0 194z" />
    <path fill="url(#sea)" d="M0 216h240v114H0z" />
    <g stroke="#ffd9a6" stroke-linecap="round" stroke-width="2.4" opacity="0.8">
      <path d="M38 224h54M48 232h34M30 242h64M54 252h26M42 264h46M58 278h14" />
    </g>
    <path fill="url(#beam)" transform="rotate(180 176 100)" d="M176 98l190-36v78l-190-36z" />
    <path fill="#171536" d="M240 208q-26-6-40 6t-34 10-26 26-36 24-24 26-34 30h194z" />
    <path fill="#2b2455" d="M240 232q-22 0-34 18t-30 24-28 26-30 30h122z" />
    <path fill="#f7ece0" d="M167 114h18l7 108h-32z" />
    <path fill="#b23a3a" d="M165.700 136h20.700l1.300 20h-23.300zM163.200 176h25.700l1.300 20h-28.300z" />
    <path fill="#1c1838" opacity="0.28" d="M178 114h7l7 108h-14z" />
    <path fill="#1b1738" d="M162 110h28v6h-28zM167 92h18v18h-18zM165 92l11-13 11 13z" />
    <path fill="#ffe9a3" d="M170 95h12v13h-12z" />
    <circle cx="176" cy="101" r="34" fill="url(#lamp)" />
    <path fill="none" stroke="#1b1738" stroke-width="1.600" d="M50 120q5-6 9 0 4-6 9 0M82 138q4-5 7 0 3-5 7 0" />
  </>
)

const Castle = () => (
  <>
    <defs>
      <Gradient
        id="night"
        stops={[
          [0, '#0d1a3a'],
          [55, '#2a4b7c'],
          [100, '#a9c6dd'],
        ]}
      />
      <Gradient
        id="snow"
        stops={[
          [0, '#f4f8fc'],
          [100, '#a8c0da'],
        ]}
      />
      <radialGradient id="moon">
        <stop offset="0.300" stop-color="#f8f3df" stop-opacity="0.55" />
        <stop offset="1" stop-color="#f8f3df" stop-opacity="0" />
      </radialGradient>
    </defs>
    <path fill="url(#night)" d="M0 0h240v330H0z" />
    <circle cx="62" cy="66" r="60" fill="url(#moon)" />
    <circle cx="62" cy="66" r="21" fill="#f8f3df" />
    <path fill="#5f82ab" d="M0 200l46-62 30 34 44-72 52 74 26-30 42 50v110H0z" />
    <path
      fill="#e6eff7"
      d="M120 100l-19 31 9 7 9-9 8 11 11-5zM46 138l-17 23 9 4 8-7 7 8 9-8zM198 144l-13 15 8 5 6-6 8 6 5-4z"
    />
    <path fill="#3d5f8c" d="M0 246l60-44 50 30 46-34 84 52v80H0z" />
    <g fill="#1a2747">
      <path d="M104 176h10v-8h8v8h8v-8h8v8h8v-8h10v72h-52zM88 190h16v58H88zM156 182h18v66h-18zM122 132h18v44h-18z" />
      <path d="M84 190l12-27 12 27zM151 182l14-32 14 32zM117 132l14-36 14 36z" />
    </g>
    <path fill="#eaf2f9" d="M84 190l12-27 5 11-7 5-4 7zM151 182l14-32 5 12-7 6-5 9zM117 132l14-36 5 13-7 6-5 10z" />
    <path
      fill="#ffd27a"
      d="M127 142h8v11h-8zM110 198h6v10h-6zM124 192h6v10h-6zM140 198h6v10h-6zM93 202h6v9h-6zM162 196h6v10h-6zM124 228q7-9 14 0v20h-14z"
    />
    <path stroke="#c9443a" stroke-width="2" d="M131 97V83" />
    <path fill="#c9443a" d="M131 83l15 4-15 5z" />
    <path fill="url(#snow)" d="M0 262q60-30 122-16t118-6v90H0z" />
    <path fill="#fff" opacity="0.7" d="M0 292q70-26 130-8t110-10v56H0z" />
    <path
      fill="none"
      stroke="#8ea9c8"
      stroke-width="3"
      stroke-linecap="round"
      opacity="0.7"
      d="M131 250q-16 14 4 28t-18 46"
    />
    <Pine x={34} y={216} size={1.25} />
    <Pine x={10} y={240} size={0.9} />
    <Pine x={62} y={244} size={0.8} />
    <Pine x={206} y={212} size={1.35} />
    <Pine x={186} y={246} size={0.75} />
    <Pine x={230} y={246} size={0.9} />
    <Dots
      fill="#fff"
      r={1.1}
      at={[
        [18, 30],
        [44, 118],
        [92, 40],
        [112, 70],
        [150, 34],
        [176, 88],
        [208, 48],
        [224, 120],
        [190, 150],
        [78, 150],
        [20, 168],
        [148, 116],
        [100, 300],
        [200, 300],
        [50, 310],
      ]}
    />
  </>
)

const Pine = ({ x, y, size }: { x: number; y: number; size: number }) => (
  <g transform={`translate(${x} ${y}) scale(${size})`}>
    <path fill="#22385c" d="M0 0l9 16H5l9 16H8l10 18h-36l10-18h-6l9-16h-4z" />
    <path fill="#eef5fb" d="M0 0l6 11-5-2-3 4-4-3zM-3 22l5 4 5-4 4 7-6-2-4 4-6-4z" />
  </g>
)

const Balloons = () => (
  <>
    <defs>
      <Gradient
        id="dawn"
        stops={[
          [0, '#3f7f98'],
          [42, '#a5c3b4'],
          [74, '#fbdca6'],
          [100, '#ffb48a'],
        ]}
      />
    </defs>
    <path fill="url(#dawn)" d="M0 0h240v330H0z" />
    <circle cx="172" cy="216" r="26" fill="#fff4d2" />
    <path
      fill="#fff"
      opacity="0.45"
      d="M0 92q24-16 46-4 20-16 42 0 16-6 26 6 H0zM146 60q18-12 34-2 16-12 32 2 14-6 28 4v6h-94z"
    />
    <path fill="#d79a86" d="M0 226q34-26 66-10t58-12 54 14 62-12v124H0z" />
    <path fill="#b1717a" d="M0 250q44-24 88-6t80-8 72 6v88H0z" />
    <path fill="#6d4c6d" d="M0 278q60-30 116-8t124-10v70H0z" />
    <path fill="#3b2f53" d="M0 304q70-22 130-6t110-8v40H0z" />
    <g stroke="#8f6584" stroke-width="1.500" opacity="0.8">
      <path fill="none" d="M120 330q-10-30 16-58M150 330q-8-26 18-58M90 330q-16-26 8-60M182 330q0-30 20-62" />
    </g>
    <Balloon x={86} y={88} size={1.55} colors={['#c8452f', '#f2b04e', '#8e2f3d']} />
    <Balloon x={182} y={122} size={0.85} colors={['#24586d', '#e9e0c8', '#173f52']} />
    <Balloon x={38} y={190} size={0.5} colors={['#7b3f73', '#f0c38e', '#5a2c5c']} />
    <Balloon x={132} y={196} size={0.36} colors={['#b8562f', '#f7dfae', '#8a3d24']} />
    <path fill="none" stroke="#3b2f53" stroke-width="1.500" d="M188 44q5-6 9 0 4-6 9 0M206 60q4-5 7 0 3-5 7 0" />
  </>
)

interface BalloonProps {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly colors: readonly [string, string, string]
}

const Balloon = ({ x, y, size, colors: [main, stripe, shade] }: BalloonProps) => (
  <g transform={`translate(${x} ${y}) scale(${size})`}>
    <path fill={main} d="M0-38c22 0 36 15 36 34C36 16 18 30 8 42H-8C-18 30-36 16-36-4-36-23-22-38 0-38z" />
    <path fill={stripe} d="M0-38c9 0 15 15 15 34C15 16 7 30 3 42H-3C-7 30-15 16-15-4-15-23-9-38 0-38z" />
    <path fill={main} d="M0-38c3 0 5 15 5 34S3 30 1 42h-2C-3 30-5 16-5-4s2-34 5-34z" />
    <path fill={shade} opacity="0.5" d="M0-38c22 0 36 15 36 34C36 16 18 30 8 42H3C18 26 26 14 26-6 26-24 14-36 0-38z" />
    <path fill="none" stroke="#4a3340" stroke-width="1" d="M-7 42l2 10M7 42l-2 10" />
    <path fill="#6b4530" d="M-6 52H6l-1 9H-5z" />
  </g>
)
