"""Let a public language model write sentences for a bank, from prompts of ours, and keep those that read well.

Run:  python tools/write_bank.py write --out build/written.jsonl --sentences 10000
      python tools/write_bank.py choose build/written.jsonl --beside wordnet --without DIR --out build/chosen.txt

``write`` goes on where a file was begun. A prompt names a kind of text, has five of the sentences below with what each
is about, and then a subject; the model (one that was added, see docs/models.md) continues to the end of the line, by
min-p sampling: tokens at least LEAST times as likely as the likeliest, from a softmax at TEMPERATURE. ``choose`` leaves
out what ``bank build`` leaves out, what is no whole sentence, what stands in a file below DIR or holds RUN words in a
row of one, and what is like a sentence of the bank beside it or one already taken (cosine of ALIKE or more). It takes
those that read best first (ln perplexity of a word by the same model, below MOST).
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.models import causal, sentence_encoder
from dptext_core.models.generator import Generator
from dptext_core.models.loaded_generators import load_generator
from dptext_core.support.task import on_terminal
from dptext_core.text.document import Document
from dptext_core.words.bank import DIMENSIONS, sentence_bank
from dptext_lab.training.bank_building import gather

MODEL = causal.JUDGE
TEMPERATURE, LEAST = 1.0, 0.05
#: Prompts that are read together, draws of each, and tokens of the longest sentence.
PROMPTS, DRAWS, LONGEST = 8, 8, 32
EXAMPLES = 5
#: Likeness from which two sentences say the same, the most ln perplexity of a word, and words in a row that are
#: somebody else's.
ALIKE, MOST, RUN = 0.85, 7.5, 6


@dataclass(frozen=True)
class Kind:
    """A kind of text: what its sentences are called, sentences of ours with what each is about, further subjects."""

    called: str
    examples: tuple[tuple[str, str], ...]
    listed: str

    @property
    def subjects(self) -> list[str]:
        """The further subjects."""
        return self.listed.split("; ")


KINDS = (
    Kind(
        "Sentences from reviews of films",
        (
            ("the story", "It takes an hour to get going and then stops too soon."),
            ("the acting", "The two leads are so good that you forgive the rest."),
            ("the director", "A first film that is made with a sure hand."),
            ("the jokes", "Most of the jokes fall flat, and the others are old."),
            ("the pictures", "Every shot is lovely to look at, and nothing happens in any of them."),
            ("the feeling", "A warm and honest film about growing old together."),
            ("the whole", "A dull and noisy mess that wastes a fine cast."),
        ),
        "a comedy; a horror film; a thriller; a romance; a war film; a film for children; a documentary; a "
        "musical; science fiction; a sequel; a remake; a family drama; a crime film; a biography; a "
        "coming-of-age story; the ending; the beginning; the dialogue; the characters; the music; the "
        "special effects; the pace; the message; the heroine; the villain; the script; the cast; the "
        "humour; the emotions; the suspense; the audience; the tone; the editing; a disappointment; a "
        "surprise; a masterpiece; clichés; charm; violence; beauty; boredom; originality; wit; "
        "sentimentality; intelligence; the love story; the performance of an old actor; animation",
    ),
    Kind(
        "Sentences from reviews of products",
        (
            ("a kettle", "It boils fast, but the lid came off after a month."),
            ("a pair of shoes", "They run small, so order a size up."),
            ("a phone", "The battery hardly lasts until the evening."),
            ("a mattress", "I have not slept this well in years."),
            ("delivery", "It arrived two days late and the box was torn."),
            ("a book", "The second half is much better than the first."),
        ),
        "headphones; a vacuum cleaner; a coffee machine; a jacket; a backpack; a laptop; a bicycle; a "
        "restaurant; a hotel room; a chair; a lamp; a toy; a game; a camera; a watch; cosmetics; a frying "
        "pan; a tent; a printer; dog food; customer service; the price; the quality; the instructions; an "
        "app; a hairdresser; a bakery; a television",
    ),
    Kind(
        "Sentences from notes of a clinic",
        (
            ("pain", "The pain in her knee is worse on stairs."),
            ("sleep", "He wakes several times a night and is tired by noon."),
            ("medicine", "She was told to take the tablets with food."),
            ("a visit", "The wound is healing well, and the stitches come out on Friday."),
            ("mood", "He says that he has felt low since the winter."),
            ("a test", "The blood test showed nothing unusual."),
        ),
        "fever; a cough; an allergy; high blood pressure; diabetes; an operation; a broken arm; pregnancy; "
        "a headache; the heart; the back; the skin; the stomach; weight; anxiety; drinking; smoking; "
        "exercise; an old patient; a child; an infection; side effects; eyes; teeth; memory; breathing; an "
        "accident at work; a follow-up",
    ),
    Kind(
        "Sentences from mails",
        (
            ("a meeting", "Could we move our meeting to Thursday afternoon?"),
            ("an invoice", "The invoice that you sent last week has not been paid yet."),
            ("thanks", "Thank you very much for your help with the report."),
            ("a delay", "I am sorry that it took me so long to answer."),
            ("an invitation", "We would be happy if you came to dinner on Sunday."),
            ("a complaint", "Nobody has answered my last three messages."),
        ),
        "a contract; holidays; a job application; a password; an order; a refund; a landlord; a neighbour; "
        "a deadline; an attachment; a phone call; a birthday; a price; a question; congratulations; bad "
        "news; good news; a reminder; a plan; a project; an appointment; school; a wedding; a sick "
        "colleague; an apology",
    ),
    Kind(
        "Requests to an assistant",
        (
            ("music", "Play some quiet jazz from the sixties."),
            ("the weather", "Will it rain in the mountains tomorrow?"),
            ("a table", "Book a table for four at an Italian place near the station."),
            ("a book", "Give this novel four stars out of five."),
            ("a playlist", "Add this song to my playlist for running."),
            ("films", "Find out when the new comedy starts at the cinema nearby."),
            ("flights", "Show me the cheapest flights to the coast on Friday morning."),
        ),
        "a song by a band; rock music; an album; a restaurant with a view; a bar for a large party; a "
        "reservation for tonight; the temperature at noon; snow; a storm; sunshine at the weekend; movie "
        "times; a cartoon; a television series; a painting; a photograph; a game; rating a book; rating an "
        "essay; the number of stars; adding an artist to a list; a party playlist; a road trip; an alarm; a "
        "timer; directions; a flight with one stop; a return ticket; airlines; an airport; a fare; ground "
        "transportation; a hotel; a recipe; a reminder; calling a friend; the lights; news; a podcast; a "
        "translation; a shopping list; a saga; a soundtrack; a sandwich place; a bakery in a small town; "
        "humidity; the forecast for next week; a schedule; a documentary",
    ),
    Kind(
        "Sentences from the news and from speeches",
        (
            ("an election", "The new government won the vote by a narrow margin."),
            ("the economy", "Prices rose faster than wages for the third year."),
            ("a fire", "Nobody was hurt in the fire that destroyed the old mill."),
            ("peace", "We must work with our neighbours if peace is to last."),
            ("a law", "The court decided that the law was against the constitution."),
            ("sport", "The home team lost in the last minute of the game."),
        ),
        "taxes; a war; the army; freedom; the nation; a strike; energy; farmers; schools; health care; a "
        "treaty; immigration; crime; a company; banks; science; a storm; a disaster; young people; justice; "
        "the budget; unemployment; democracy; a trial; a victory; hope; the environment; trade; weapons; "
        "the future; congress; citizens",
    ),
    Kind(
        "Sentences about a journey",
        (
            ("a train", "The train was late, so we missed the last bus to the village."),
            ("a beach", "We had the whole beach to ourselves in the morning."),
            ("a city", "The old town is best seen on foot."),
            ("luggage", "My suitcase went to another country without me."),
            ("food", "We ate fish at a small place by the harbour."),
        ),
        "an airport; a hotel; mountains; a museum; a border; a guide; rain; a car; a ferry; a market; a "
        "lake; a desert; a passport; a camp; a bridge; an island; walking; getting lost; money; a language; "
        "home",
    ),
    Kind(
        "Sentences about work",
        (
            ("a manager", "My manager never reads what we send her."),
            ("pay", "They promised us more money and gave us a mug."),
            ("a colleague", "He does his work well and helps everyone else with theirs."),
            ("a decision", "I have decided to look for another job."),
            ("hours", "We worked through the night to get it done."),
        ),
        "training; a mistake; a promotion; a factory; an office; a shop; a computer; a customer; a "
        "presentation; being dismissed; a team; safety; an interview; stress; retirement; research; "
        "teaching; a hospital; a farm; a kitchen; a contract; a report",
    ),
    Kind(
        "Sentences about family and friends",
        (
            ("a mother", "My mother still calls me every evening."),
            ("a child", "Our youngest started to walk last week."),
            ("a quarrel", "They have not spoken to each other since the funeral."),
            ("a friend", "She is the first person I ask when I do not know what to do."),
            ("a house", "We have lived in this house for twenty years."),
        ),
        "a father; a brother; a sister; grandparents; a marriage; a divorce; a birth; a death; a dog; a "
        "cat; school; money; illness; a party; cooking; a garden; a secret; love; loneliness; moving; "
        "growing up; a neighbour; a present; religion; a promise; a worry",
    ),
)


@dataclass(frozen=True)
class SubjectPrompt:
    """A prompt, with the places of its kind and of its subject."""

    kind: int
    subject: str
    text: str


def prompts(seed: int) -> Iterator[SubjectPrompt]:
    """Prompts without an end, the kinds in turn."""
    rng = np.random.default_rng(seed)
    for k in itertools.cycle(range(len(KINDS))):
        kind = KINDS[k]
        shown = [kind.examples[i] for i in rng.permutation(len(kind.examples))[:EXAMPLES]]
        subject = str(rng.choice(kind.subjects))
        lines = [f"About {about}: {sentence}" for about, sentence in shown]
        yield SubjectPrompt(k, subject, "\n".join([f"{kind.called}.\n", *lines, f"About {subject}:"]))


def drawn(scores: np.ndarray, rng: np.random.Generator) -> int:
    """One token by min-p sampling: scores float32 (n,) of every candidate."""
    near = np.flatnonzero(scores >= scores.max() + np.log(LEAST) * TEMPERATURE)
    p = np.exp((scores[near].astype(np.float64) - scores.max()) / TEMPERATURE)
    return int(rng.choice(near, p=p / p.sum()))


def written(generator: Generator, asked: Sequence[SubjectPrompt], rng: np.random.Generator) -> list[str]:
    """What the model continues each prompt by, DRAWS times, up to the end of the line; "" where that does not come."""
    ids = [generator.prompt("", prompt.text, "", generator.spec.max_length - LONGEST)[0] for prompt in asked]
    state = generator.begin(ids, DRAWS)
    rows: list[list[int]] = [[] for _ in range(len(asked) * DRAWS)]
    open_ = set(range(len(rows)))
    for _ in range(LONGEST):
        tokens = [generator.end] * len(rows)
        for r in sorted(open_):
            tokens[r] = drawn(state.logits[r], rng)
            if tokens[r] == generator.end or tokens[r] in generator.breaks:
                open_.discard(r)
            else:
                rows[r].append(tokens[r])
        if not open_:
            break
        generator.step(state, tokens)
    return ["" if r in open_ else "".join(generator.pieces(row)).strip() for r, row in enumerate(rows)]


def write(out: Path, n: int, seed: int, model: str) -> None:
    """Lines of JSON with kind, subject and sentence, until there are n."""
    there = out.read_text(encoding="utf-8").count("\n") if out.is_file() else 0
    generator = load_generator(model)
    rng = np.random.default_rng((seed, there))
    asking = prompts(int(rng.integers(1 << 30)))
    task = on_terminal("writing")
    out.parent.mkdir(parents=True, exist_ok=True)
    while there < n:
        asked = [next(asking) for _ in range(PROMPTS)]
        found = written(generator, asked, rng)
        with out.open("a", encoding="utf-8") as file:
            for r, sentence in enumerate(found):
                prompt = asked[r // DRAWS]
                line = {"kind": KINDS[prompt.kind].called, "subject": prompt.subject, "sentence": sentence}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        there += len(found)
        task.report(there, n)


def plain(text: str) -> str:
    """Letters and digits alone, in small ones, with a blank at each end."""
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.lower()))} "


def runs(text: str) -> set[str]:
    """Every RUN words in a row."""
    words = plain(text).split()
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def elsewhere(sentences: Sequence[str], folder: Path) -> set[int]:
    """The places of those that stand in a file below a folder, or hold RUN words in a row of one."""
    said = [plain(s) for s in sentences]
    own: dict[str, set[int]] = {}
    for i, sentence in enumerate(sentences):
        for run in runs(sentence):
            own.setdefault(run, set()).add(i)
    found: set[int] = set()
    for file in sorted(p for p in folder.rglob("*") if p.suffix in {".tsv", ".csv", ".txt"}):
        text = plain(file.read_text(encoding="utf-8", errors="ignore"))
        found |= {i for i, s in enumerate(said) if s in text}
        for run in runs(text) & own.keys():
            found |= own[run]
    return found


def far_enough(vectors: np.ndarray, beside: np.ndarray, order: Sequence[int]) -> list[int]:
    """In this order, those that are not alike one of ``beside`` or one that was taken before."""
    alone = [i for i in order if not len(beside) or float((beside @ vectors[i]).max()) < ALIKE]
    taken: list[int] = []
    for i in alone:
        if not taken or float((vectors[taken] @ vectors[i]).max()) < ALIKE:
            taken.append(i)
    return taken


def bank_vectors(name: str | None) -> np.ndarray:
    """Vectors of length 1 of a bank's sentences, float32 (n, 384); none without a bank."""
    if name is None:
        return np.zeros((0, DIMENSIONS), np.float32)
    bank = sentence_bank(name)
    return (bank.codes / bank.lengths[:, None]).astype(np.float32)


def choose(files: Sequence[Path], beside: str | None, without: Path | None, out: Path, model: str) -> None:
    """The sentences that a bank may have, those that read best first, one a line."""
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    kinds = {line["sentence"]: line["kind"] for line in lines}
    left_out: Counter[str] = Counter({"no end of a line": sum(not line["sentence"] for line in lines)})
    ours = {sentence for kind in KINDS for _, sentence in kind.examples}
    whole = []
    for sentence in dict.fromkeys(line["sentence"] for line in lines if line["sentence"]):
        one = len(Document.parse(sentence).sentences) == 1
        if one and sentence[0].isupper() and sentence[-1] in ".!?" and '"' not in sentence and sentence not in ours:
            whole.append(sentence)
        else:
            left_out["no whole sentence of its own"] += 1
    gathered = gather(whole)
    left_out.update(gathered.omissions)
    sentences = list(gathered.sentences)
    if without is not None:
        known = elsewhere(sentences, without)
        left_out["in a file elsewhere"] = len(known)
        sentences = [s for i, s in enumerate(sentences) if i not in known]
    read = np.array(causal.judge(model)(sentences))
    left_out["reads badly"] = int((read > MOST).sum())
    order = [int(i) for i in np.argsort(read, kind="stable") if read[i] <= MOST]
    vectors = sentence_encoder.embed(sentences)
    taken = far_enough(vectors, bank_vectors(beside), order)
    left_out["alike"] = len(order) - len(taken)
    out.write_text("\n".join(sentences[i] for i in taken) + "\n", encoding="utf-8")
    for why, count in sorted(left_out.items()):
        print(f"left out, {why}: {count:,}")
    for kind, count in Counter(kinds[sentences[i]] for i in taken).items():
        print(f"taken, {kind}: {count:,}")
    print(f"{len(lines):,} written, {len(taken):,} taken; ln perplexity {np.mean(read[taken]):.2f} on average")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default=MODEL, help="a causal language model that was added")
    commands = parser.add_subparsers(dest="command", required=True)
    writes = commands.add_parser("write", help="write sentences; a file that was begun is gone on with")
    writes.add_argument("--out", type=Path, required=True, metavar="FILE")
    writes.add_argument("--sentences", type=int, default=10_000, help="sentences to write")
    writes.add_argument("--seed", type=int, default=1)
    chooses = commands.add_parser("choose", help="choose among what was written")
    chooses.add_argument("files", type=Path, nargs="+", metavar="FILE")
    chooses.add_argument("--beside", metavar="BANK", help="a bank that need not say the same again: its name or folder")
    chooses.add_argument("--without", type=Path, metavar="DIR", help="texts of which nothing may be in it")
    chooses.add_argument("--out", type=Path, required=True, metavar="FILE")
    args = parser.parse_args(argv)
    if args.command == "write":
        write(args.out, args.sentences, args.seed, args.model)
    else:
        choose(args.files, args.beside, args.without, args.out, args.model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
