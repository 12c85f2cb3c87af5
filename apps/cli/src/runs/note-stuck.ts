import { setTimeout as delay } from "node:timers/promises";
import { stuckTexts } from "./run-obstacles.ts";
import type { ServerStack } from "./run-place.ts";
import type { RunView } from "./run-view.ts";

/** How often a run is read that is followed: that it is stuck is no event of its own. */
const LOOK_MS = 30_000;

interface FollowedRun extends Pick<ServerStack, "place"> {
  readonly client: Pick<ServerStack["client"], "showRun">;
  readonly run: { readonly id: string };
  readonly view: Pick<RunView, "note">;
}

/** Says of a run that is followed that it is stuck, each time that a server notes it, until the signal aborts. */
export async function noteStuck(
  { client, place, run, view }: FollowedRun,
  signal: AbortSignal,
  lookMs = LOOK_MS,
): Promise<void> {
  let noted: string | undefined;
  for (;;) {
    try {
      await delay(lookMs, undefined, { signal, ref: false });
      const { data } = await client.showRun({ ...place, run: run.id }, { signal });
      const { stuck } = data;
      if (stuck !== undefined && stuck.noted_at !== noted) {
        for (const text of stuckTexts(data)) view.note(text);
      }
      noted = stuck?.noted_at;
    } catch {
      // That the server does not answer is said by what follows the events.
      if (signal.aborted) return;
    }
  }
}
