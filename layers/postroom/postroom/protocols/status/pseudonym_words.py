"""The words that pseudonyms of chat keys are made of.

They were put together for postroom from common English: qualities, moods, colours and weather that nobody minds to be
called, and animals whose names are no insult. Colours of skin, sizes, ages, and words that would read like a verdict of
ours ("trusted", "genuine") are left out. None was taken from Status's lists, which are under the MPL-2.0.

The lists never change: with another word, order or length most keys would have another pseudonym. Both lengths are
prime and they differ: the three indices come from one shift register, each state nearly twice the one before, and the
parts of a pseudonym would repeat each other if the lengths had a common factor.
"""

from typing import Final

_ADJECTIVES: Final = """
able accurate active adaptable adept admirable adventurous affable agile agreeable airy alert alpine amazing amber
amiable amused amusing apt aquatic arctic ardent artful artistic astral astute attentive autumnal avid aware awesome
azure balanced balmy beaming beloved beneficent benevolent bold boundless brave breezy bright brilliant brisk bubbly
bucolic buoyant calm candid capable carefree careful caring celestial cerulean charming cheerful cheery chipper
chivalrous civil clear clever coastal cobalt comfortable composed confident congenial considerate consistent constant
content convivial copper coral cordial cosmic courageous courteous creative crimson crystal curious dapper daring
dashing dauntless dazzling dear decent decisive dedicated deft delightful dependable deserving determined devoted dewy
diligent diplomatic discerning discreet distinguished dreamy durable dutiful dynamic eager early earnest easygoing
ebullient eclectic educated effective efficient effortless elated electric elegant eloquent emerald eminent enchanted
encouraging endearing enduring energetic engaging enjoyable enlightened enterprising enthusiastic epic equable
esteemed ethereal evergreen exact excellent exceptional exciting expert exuberant fabulous faithful famed famous
fanciful fancy fantastic fearless festive fine fleet floral flourishing fluent flying focused fond forgiving
formidable forthright fortunate frank friendly frosty gallant generous genial gentle gifted gilded glad gleaming
gleeful glimmering glistening glittering glorious glowing golden good graceful gracious grateful great gregarious
grounded guiding handy happy hardy harmonious hazel helpful heroic highland honest hopeful hospitable humble idyllic
illustrious imaginative immaculate impartial impressive incredible independent indigo industrious infinite ingenious
innovative inquisitive insightful inspired inspiring intrepid inventive invincible iridescent jade jaunty jazzy jolly
jovial joyful joyous jubilant judicious keen kind kindhearted kindly kinetic lakeside laudable lavender leading
learned legendary leisurely levelheaded lighthearted likable lilac lively logical loyal lucid lucky luminous lunar
lustrous lyrical magenta magical magnetic magnificent maple marine maritime masterful mellow melodic melodious
memorable merry methodical meticulous mighty mindful mirthful modern modest moonlit motivated musical mystical mythic
natural nautical neat nifty nimble noble northern notable noteworthy novel observant oceanic opal open openhearted
optimistic orchid orderly outdoor outgoing outstanding pacific pastoral patient peaceful pearly peppy perceptive
persevering persistent personable phenomenal picturesque pioneering playful pleasant pleased plucky poetic poised
polished polite popular positive practical praiseworthy precious precise pristine prized proficient prompt prosperous
prudent punctual purposeful quick quiet radiant rapid rational ready refined reflective refreshing remarkable renowned
resilient resolute resourceful respected respectful responsible rhythmic riverside rosy royal ruby sapphire scarlet
scenic scholarly scientific selfless sensible serene shimmering shining shiny silken silver sincere skilled smart
smiling snowy sociable solar sonic sophisticated southern sparkling spectacular speedy spirited splendid spontaneous
spotless sprightly stable stalwart starlit starry stately steadfast steady stellar striking studious stylish sublime
successful summery sunlit sunny superb supportive sure swift sylvan sympathetic tactful talented teal tenacious
terrific thankful thorough thoughtful thrilled thriving tidal tidy timeless tireless topaz tranquil treasured
triumphant tropical truthful turquoise twinkling unbiased unfailing unique united unselfish upbeat upstanding useful
valiant valued velvet verdant versatile vibrant victorious vigilant vigorous violet virtuous visionary vivacious vivid
warm warmhearted watchful welcome welcoming whimsical wholesome winning winsome wintry wise witty wonderful wondrous
woodland worthy zealous zesty
"""
_ANIMALS: Final = """
addax agouti alpaca angelfish antelope argali armadillo arowana auklet avocet axolotl badger bandicoot barbet
barracuda beetle bellbird bettong bilby binturong bluebird bluejay bobcat bobolink bongo bowerbird brambling brolga
budgerigar bulbul bumblebee bunting butterfly capybara caracal caracara caribou cat catbird chaffinch chamois
chinchilla chipmunk chital cicada civet coati condor cormorant corncrake crane cricket crossbill curlew cuttlefish
danio darter deer degu discus dolphin dormouse dragonfly dunlin dunnock eagle echidna egret eider eland elk emu ermine
falcon fennec ferret fieldfare finch firecrest firefly flamingo flycatcher fossa gazelle gecko gerenuk glider
goldcrest goldeneye goldfinch gopher goral goshawk grayling grebe greenfinch greenshank grouper guanaco guillemot
gyrfalcon haddock hamster hare harrier hawfinch hawk hedgehog heron hoatzin honeybee honeyeater hoverfly hummingbird
hyrax ibex ibis iguana impala jabiru jacana jackdaw jackrabbit jaguar jaguarundi jay jerboa junco kangaroo katydid kea
kestrel kiang kingbird kingfisher kinglet kite kittiwake klipspringer koala kodkod koi kookaburra kowari kudu lacewing
ladybird ladybug lapwing lark leafbird leopard limpkin linnet linsang lion lioness lionfish llama lobster longspur
lorikeet lory lovebird lynx lyrebird macaw mallard manakin manta mantis mara markhor marlin marmot marten martin
mayfly meadowlark meerkat merganser merlin moonfish moorhen moth motmot mouflon mouse muntjac murrelet narwhal
nautilus nightingale nyala ocelot octopus okapi onager oncilla oriole oryx osprey otter ouzel owl owlet oystercatcher
paca pademelon panda pangolin parakeet parrotlet partridge pelican penguin perch petrel phalarope phoebe pika pintail
pipit plover pony porpoise potoroo pronghorn ptarmigan pudu puffin puma quail quenda quetzal quokka quoll rabbit raven
razorbill redpoll redstart reindeer rhea ringtail roadrunner robin roller rosefinch rosella saiga salamander salmon
sambar sanderling sandgrouse sandpiper sardine scarab scaup scoter seabream seahorse seal seastar seriema serow serval
shearwater shelduck shrike siskin sitatunga skink skipper skua skylark sparrow spoonbill springbok squirrel stag
starling steenbok stilt stingray stoat stonechat stork sturgeon sunbird sunbittern sunfish swallowtail swan swordfish
takin tanager tapir tarpon tenrec tern terrapin tetra thrasher tiger tilapia tinamou topi toucan trogon tuna turaco
turnstone turtle turtledove urial verdin vicuna vireo viscacha vole wallaby wallaroo wapiti warbler waterbuck
waterthrush waxbill waxwing weaver weka whimbrel whinchat wigeon wildcat wildebeest willet wolf wolverine wombat
woodlark wren wryneck yak zander zebra
"""

ADJECTIVES: Final = tuple(_ADJECTIVES.split())
"""Sorted, in lower-case ASCII letters."""
ANIMALS: Final = tuple(_ANIMALS.split())
"""Sorted, in lower-case ASCII letters."""
