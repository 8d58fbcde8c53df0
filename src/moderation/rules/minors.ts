import type { TermList } from '../term-matcher.js'
import { writtenList } from './written-list.js'

const numberWords = writtenList(`
  zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen
  seventeen
`)
/** Words that say someone is a minor. By themselves they are harmless. "girl" and "boy" alone are not among them. */
export const minors: TermList = {
  terms: writtenList(`
    child, children, childlike, child like, kid, kidz, kiddo, kiddie, kiddies, kiddy, *toddler*, todler, infant
    baby, babies, newborn, neonate, nursling
    little girl, little boy, lil girl, lil boy, small girl, small boy, tiny girl, tiny boy, smol girl, smol boy
    young girl, young boy, younger girl, younger boy, baby girl, baby boy, little sister, little brother
    little daughter, little son, young daughter, young son
    teen, teenage, teenaged, teenager, teenie, *preteen*, preteenage, tween, tweenie, tweenager, adolescent
    *underage*, underaged, under eighteen, under 18, under 16, under the age of 18, younger than 18, below 18
    youngster, youngling, juvenile, nymphet
    prepubescent, pubescent, prepubertal
    minors, a minor, minor girl, minor boy, minor female, minor male, minor aged
    *schoolgirl*, *schoolboy*, schoolchild, schoolchildren, schoolkid
    high school girl, high school boy, high schooler, high school student, middle school, middle schooler, junior high
    elementary school, elementary schooler, primary school, grade school, grade schooler, kindergarten, kindergartner
    kindergartener, preschool, preschooler, first grader, second grader, third grader, fourth grader, fifth grader
    sixth grader, seventh grader, eighth grader, ninth grader, girl scout, boy scout, cub scout
    aged down, age regression, age regressed, deaged, age play

    loli, lolita, shota, youjo, yojo, shogakusei, chugakusei, joshi kosei, kodomo

    niña, niño, niñita, niñito, menor de edad, menores de edad, adolescente, colegiala, quinceañera, chiquilla
    chiquillo
    bebé, criança, criancinha, menina, menino, menininha, menininho, garotinha, garotinho, menor de idade
    enfant, fillette, petite fille, petit garçon, mineure, gamin, écolière, écolier, collégienne, collégien, lycéenne
    lycéen, bambin, nourrisson
    kinder, ein kind, das kind, kleinkind, kleines kind, kleines mädchen, kleiner junge, junges mädchen, minderjährig*
    schulmädchen, schuljunge, jugendliche, säugling, vorpubertär*, kindlich, kindliche
    bambina, bambino, bambine, bambini, ragazzina, ragazzino, ragazzine, ragazzini, minorenne, minorenni, fanciulla
    fanciullo, neonata, neonato
    ребёнок, ребёнка, ребёнку, ребёнком, дети, детей, детям, детьми, детях, детская, детский, детские, детское, малыш*
    младенец, младенца, девочка, девочки, девочку, девочке, девочек, девочкой, мальчик, мальчика, мальчики, мальчиков
    школьниц*, школьник*, подрост*, несовершеннолетн*, малолет*, тинейджер*, лоли, шота
    kindje, kinderen, kleuter, peuter, dziecko, dzieci, dziewczynka, çocuk, anak kecil, bocah

    子供, 子ども, こども, コドモ, 児童, 幼児, 幼女, 女児, 男児, 童女, 少女, 少年, 小学生, 中学生, 高校生, 未成年, 赤ちゃん
    あかちゃん, 赤ん坊, 園児, ロリ, ロリータ, ロリっ子, ショタ, ショタっ子, メスガキ
    小孩, 儿童, 兒童, 孩子, 孩童, 女童, 男童, 小女孩, 小男孩, 小女生, 萝莉, 蘿莉, 正太, 婴儿, 嬰兒, 幼童, 初中生, 小學生, 中學生
    어린이, 아동, 미성년, 소녀, 소년, 여자아이, 남자아이, 로리타, 초등학생, 중학생, 고등학생
    👶, 🧒
  `),
  ordinary: writtenList(`
      kid glove, kid gloves, kid leather, kid boots, goat kid, goat kids, kid goat, kid goats, billy the kid, karate kid
      sundance kid, cisco kid, wimpy kid, kid icarus, kid cudi, i kid you
      adult child of, adult children of, her adult children, his adult children, their adult children, grown children of
      inner child, lee child, julia child, desmond child, child's pose, childish gambino, destiny's child
      baby blue, baby pink, baby yellow, baby green, baby purple, baby shower, baby oil, baby powder, baby's breath
      baby grand, baby doll, baby tee, baby bump, baby hair, baby bangs, baby bok choy, baby corn, baby spinach
      baby carrot, baby potatoes, baby greens, baby back ribs, baby boomer, baby yoda, baby groot, baby driver
      baby shark
      baby phat, baby spice, baby jane, million dollar baby, rosemary's baby, sugar baby, sugar babies, bebe rexha
      baby dragon, baby elephant, baby goat, baby turtle, baby fox, baby deer, baby bear, baby bird, baby penguin
      baby panda, baby seal, baby owl, baby duck, baby chick, baby rabbit, baby bunny, baby hedgehog, baby tiger
      baby lion, baby sloth, baby monkey, baby whale, baby animals
      teen titans, teen wolf, teenage mutant ninja, teen vogue, teen spirit
      in a minor, a minor key, a minor chord, a minor scale, a minor detail, a minor scratch, a minor scar, a minor flaw
      a minor injury, a minor wound, a minor bruise, a minor cut, a minor character, a minor role, a minor deity
      a minor god, a minor goddess, a minor noble, a minor prophet, a minor planet, a minor third, a minor league
      a minor road, a minor adjustment, a minor change, a minor imperfection, a minor blemish, a minor crack
      lolita dress, lolita fashion, lolita style, lolita outfit, lolita clothing, lolita skirt, lolita shoes
      shota aizawa, aizawa shota, shota imanaga, juvenile delinquent, kindergarten cop
      kinder than, a kinder, much kinder, kinder world, kinder face, kinder eyes, kinder egg, kinder surprise
      kinder chocolate, kinder bueno, enfant terrible, enfants terribles
      ice age, dragon age, stone age, bronze age, iron age, golden age, space age, new age, jazz age, middle ages
      dark ages, year old whisky, year old whiskey, year old scotch, year old bourbon, year old rum, year old wine
      year old port, year old cheese, year old oak, year old tree, year old house, year old castle, year old church
      year old building, year old car, year old vintage, year old brandy, year old cognac, day old bread, days old bread
      day old stubble, days old stubble, day old beard, week old beard, month old beard
      детская площадка, 少年ジャンプ, 少女漫画, 少年漫画, 少女時代, 女孩子, 男孩子, 소녀시대
      yr anniversary, yr reunion, yrs ago, yrs later, yrs of, yrs together, yrs married, shot a, shot as, neet
  `),
  ages: {
    below: 18,
    words: numberWords,
    tens: writtenList('twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety, hundred, thousand'),
    manyfold: writtenList('hundred, thousand, million, centuries, decades'),
    units: writtenList(`
      year old, years old, yr old, yrs old, y old, yr, yrs, yo, year young, years young, years of age
      años, anos de idade, ans, jahre, jährig, jährige, jähriges, anni, лет, летняя, летний, летнюю, года
      歳, 才, 岁, 歲, 살, 세
    `),
    youngUnits: writtenList(
      'month old, months old, mo old, week old, weeks old, day old, days old, ヶ月, か月, 个月, 個月',
    ),
    leads: writtenList('age, aged, ages, age of, age is'),
  },
}
