import { Mark } from "./mark.tsx";

type Why = "unclaimed" | "silent";

const TEXTS: Readonly<Record<Why, string>> = {
  unclaimed: "no worker takes its step",
  silent: "nothing is heard of its step",
};

/** Why a run is stuck, in a sentence. */
export function stuckText(why: Why): string {
  return TEXTS[why];
}

/** That a server noted the step of a run as stuck. */
export function StuckBadge({ why }: { readonly why: Why | undefined }) {
  if (why === undefined) return null;
  return (
    <span className="badge bad" title={stuckText(why)}>
      <Mark shape="triangle" />
      stuck
    </span>
  );
}
