// The text of the tour's steps. Comes after token_math.js and before strip_tour.js.

const TOUR_STEPS = [
  { title: "", say: "", bar: "", take: "" },
  {
    title: "Tap everything that identifies her.",
    say: "This is a note from a clinic. Somebody wants to share it, but nobody should learn who it is about. " +
      "Which words would tell you? Tap them.",
    bar: "The note as written",
    take: "A person is more than a name.",
  },
  {
    title: "Cross out the names. Is that enough?",
    say: "Names, numbers, places and dates are replaced. But read on: *she*, *chest pain*, *the same heart disease*. " +
      "A reader still knows what she has.",
    bar: "The note with names crossed out",
    take: "Crossing out hides names. It does not hide facts.",
  },
  {
    title: "So flip coins: choose the word at random.",
    say: "We take out “heart” and pick a word at random. Now think of a neighbour whose note says “lung”. " +
      "That note could have produced the same word, almost as often.",
    bar: "The note with one word sampled at random",
    take: "Differential privacy limits the odds: one word never proves which note it came from.",
  },
  {
    title: "Now slide: left hides, right reveals.",
    say: "*ε* limits what a reader learns from one word: " +
      `at ε = 1, a 50:50 guess becomes at most ${oddsPair(1)}. Larger ε protects less. Watch both numbers.`,
    bar: "",
    take: "More meaning means more certainty for the reader.",
  },
  {
    title: "Keep the reader below 50% and the text readable.",
    say: "It is hard: that is the trade-off. Every replaced word spends ε, and the budgets add up. " +
      "Whole sentences spend less, but they lose facts. Try both.",
    bar: "",
    take: "",
  },
];
