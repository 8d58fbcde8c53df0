import type { TermList } from '../term-matcher.js'
import { writtenList } from './written-list.js'

/** Words for sex and nudity. By themselves they are allowed. */
export const sexual: TermList = {
  terms: writtenList(`
    nude, *nudity*, nudist, nudism, nudie, nakedness, naked, nekkid, unclothed, unclad, disrobe, disrobed, disrobing
    undress
    undressed, undressing, unclothe, au naturel, no pants, without pants, pantsless, no clothes, no clothing
    without clothes, without clothing, not wearing clothes, wearing nothing
    clothes off, clothing removed, birthday suit, topless, bottomless, bare breast, bare breasted, exposed breast
    bare chested girl
    bare bottom, bare butt, bare buttocks, bare ass, skinny dip, skinny dipping
    sex, sexual, sexually, sexualized, sexualised, sexualize, sexualise, sexy, sexier, sexiest, sexting, sexiness, seggs
    erotic*, erotique, *porn*, pron, nsfw, hentai, ecchi, lewd, lewds, lewdness, r18, r34, rule34, xxx, x rated
    adult content, adult film, adult video, rating explicit, rating questionable, explicit, onlyfans, uncensored
    decensored, not safe for work
    camgirl, cam girl, centerfold, playboy bunny
    penis, cock, dick, phallus, boner, erection, erect member, testicle, scrotum, foreskin, glans
    pussy, pussies, vagina*, vulva*, clit, clitoris, labia, hymen, genital, genitals, genitalia, private parts
    crotch shot, crotch focus, pubic, pubes, anus, anal, butthole, asshole, ass, big butt, butt cheeks, butt focus
    underboob, sideboob
    breasts, boob, boobs, boobies, tits, titties, titty, nipple, areola, areolae, cleavage, flat chest, flat chested
    pantyshot, panty, panties, upskirt, downblouse, cameltoe, lingerie, negligee, thong, only underwear, underwear only
    in underwear, in her underwear, in his underwear, no panties, no underwear, no bra, braless
    see through clothes, see through dress, see through shirt, see through top, see through blouse, transparent clothes
    transparent clothing, transparent dress, micro bikini, nip slip, in a g string, wearing a g string
    cum, cumming, cumshot, semen, sperm, creampie, bukkake, ejaculat*, orgasm*, masturbat*, fap, fapping, wank, wanking
    jerking off, jerk off, fellatio, cunnilingus, blowjob, handjob, footjob, titjob, boobjob, rimjob, oral sex
    deepthroat
    gangbang, orgy, orgies, threesome, intercourse, coitus, copulat*, doggystyle, missionary position, cowgirl position
    mating press, impregnat*, sodomy, sodomize, sodomized, fisting, humping, making love, spanking, golden shower
    fuck, fucked, fucker, fucking, horny, aroused, arousal, arousing, slut, slutty, whore, prostitut*, stripper
    striptease
    strip tease, lap dance, pole dancing, brothel, seductive, seductively, seducing, sensual*, lustful, lustfully
    suggestive pose, provocative pose, provocative clothing, provocative outfit, sultry look, sultry pose, sultry gaze
    spread legs, legs spread, spreading legs, fetish, bdsm, bondage, dildo, vibrator, sex toy, buttplug
    milf, gilf, ahegao, futanari, futa, yiff, oppai, paizuri, nakadashi, netorare
    rape, raped, raping, rapist, molest*, incest, incestuous, grope, groped, groping, virginity, deflower*

    desnud*, sexo, sexuales, tetas, follar, follando, pornografía, coño, culo, sin ropa, semidesnud*
    nua, nuas, menino nu, seios, transando, sem roupa, buceta
    nue, nues, nus, tout nu, toute nue, corps nu, enfant nu, nudité, sexe, sexuel, sexuelle, seins, érotique
    nackt, nackte, nackter, nackten, nacktes, nackig, nacktheit, sexuell, sexuelle, erotisch*, titten, ficken, brüste
    entkleidet, unbekleidet, entblößt
    nuda, nudo, nudi, nudità, sesso, sessuale, tette, spogliata, senza vestiti, svestita
    голая, голый, голые, голую, голой, голого, голых, голым, голенькая, голенький, обнажён*, нагая, нагой, нагие, нагую
    секс*, порно*, эрот*, раздет*, сиськи, без одежды
    naakt, naakte, çıplak, telanjang, bugil

    裸, 全裸, 半裸, 裸体, 裸體, 露出狂, ヌード, エロ, エッチ, エロい, エロチック, セックス, ポルノ, ヘンタイ, 変態, おっぱい, 乳首
    巨乳, 爆乳, 乳房, 性器, 性交, 性行為, フェラ, フェラチオ, 中出し, オナニー, パンチラ, アヘ顔, 下着姿, 18禁
    色情, 情色, 做爱, 做愛, 性爱, 性愛, 露点, 露點, 乳头, 乳頭, 阴部, 陰部, 阴道, 阴茎, 没穿衣服, 不穿衣服, 脱光, 一丝不挂
    알몸, 나체, 누드, 섹스, 포르노, 야동, 음란, 벌거벗
    🔞
  `),
  ordinary: writtenList(`
    naked eye, naked eyed, naked mole rat, naked cake, naked bike, naked tree, naked branch, naked branches, naked flame
    naked truth, naked bulb, naked lightbulb, naked light bulb, naked raspberry, naked juice, naked gun, naked neck
    nude lipstick, nude lip gloss, nude eyeshadow, nude nail polish, nude heels, nude high heels, nude pumps
    nude pointe shoes, nude tights
    kick ass, bad ass, smart ass, wise ass, wild ass, jack ass, hard ass, an ass, ox and ass, ox and the ass, ass and ox
    ass and a, ass and the, erection of, brand spanking, explicit lyrics
    same sex, opposite sex, single sex, sex pistols, sex reveal, sex education, sex and the city, fair sex
    food porn, foodporn, earth porn, earthporn, nature porn, xxx tentacion
    topless mountain, bottomless pit, bottomless well, bottomless chasm, bottomless abyss, bottomless bag
    bottomless cup
    bottomless brunch, bottomless lake, bottomless sea, bottomless ocean, bottomless void, bottomless hole
    bottomless coffee, clothes off the line, clothes off a line, clothes off the rack
    skyline r34, r34 skyline, nissan r34, r34 gtr, r34 gt, gtr r34, gt r r34
    moby dick, dick tracy, dick van dyke, dick grayson, philip k dick, dick clark, dick cheney, spotted dick
    dick whittington, dick turpin, dick dastardly, dick and jane, tom dick and harry
    weather cock, cock crow, cock crows, cock a doodle, cock a leekie, fighting cock, cock and bull, cock of the walk
    cock of the rock, pussy cat, pussy willow, pussy riot, pussy foot, pussy galore, blue tits, coal tits, tailed tits
    footed boobies, bottle nipple, grease nipple, chicken breasts, turkey breasts, duck breasts, robin red breasts
    cum laude, cum grano salis, sperm whale, sperm cell, cream pie, rock cleavage, crystal cleavage, slaty cleavage
    paint stripper, wire stripper, thong sandal, horny toad, horny lizard, houjuu nue
    oilseed rape, rape seed, rape field, rape flower, rape blossom
    pen is, an us, an al, top less
    pieds nus, pied nu, mains nues, tête nue, œil nu, mise à nu, épaules nues, bras nus
    piedi nudi, occhio nudo, mani nude, pies desnudos, pie desnudo, ojo desnudo, nudo de, nudo marinero, nudo celta
    секстет, секстант, голые деревья, голые ветви
    裸足, 裸眼, 裸麦, 裸の王様, 裸一貫, 裸子植物, 裸電球, 裸馬, 赤裸々
    lana
  `),
}
