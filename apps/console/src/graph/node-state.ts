/** The class of a state: what it looks like, and how much worse than others it is. */
type StateTone = "bad" | "attention" | "active" | "good" | "plain";

/** The worst first. */
export const TONES: readonly StateTone[] = ["bad", "attention", "active", "good", "plain"];

/** States that are anything else than on their way. */
const TONE_OF: Readonly<Record<string, StateTone>> = {
  bad: "bad",
  failed: "bad",
  partially_applied: "bad",
  policy_failed: "bad",
  rolled_back: "bad",
  tainted: "bad",
  unresolved: "bad",
  attention: "attention",
  awaiting_approval: "attention",
  outdated: "attention",
  good: "good",
  up_to_date: "good",
  ready: "plain",
  without_runs: "plain",
};

/** Shapes that say the same as the color. */
const SIGN_OF: Readonly<Record<StateTone, string>> = {
  bad: "✕",
  attention: "▲",
  active: "◌",
  good: "",
  plain: "",
};

export function toneOf(state: string | undefined): StateTone {
  return state === undefined ? "plain" : (TONE_OF[state] ?? "active");
}

/** The sign of a state; empty where there is nothing to say. */
export function signOf(state: string | undefined): string {
  return SIGN_OF[toneOf(state)];
}

/** The state as words. */
export function stateText(state: string): string {
  return state.replaceAll("_", " ");
}

/** How many are in which state, the worst first. */
export function statesText(states: Readonly<Record<string, number>>): string {
  return TONES.flatMap((tone) => Object.entries(states).filter(([state]) => toneOf(state) === tone))
    .map(([state, count]) => `${count} ${stateText(state)}`)
    .join(", ");
}

/** The one of two states that is more worth knowing. */
export function worseState(
  known: string | undefined,
  other: string | undefined,
): string | undefined {
  return TONES.indexOf(toneOf(other)) < TONES.indexOf(toneOf(known)) ? other : known;
}
