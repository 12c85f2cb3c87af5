import { concealPlan, type PlanDocumentWriter, planToJson } from "@stackwright/core";
import { planView } from "@stackwright/plan-view";
import type { CommandContext } from "../command-context.ts";
import type { Session } from "./session.ts";

/** Larger forms are not kept: a reader has to have them in memory as a whole. */
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;

/**
 * Keeps plans in a store in forms without secrets: a server shows them to those who approve them, and has no key of the stack. Undefined
 * for the store of a folder, which no server reads. A plan of which they cannot be kept is as good, with a warning.
 */
export function planDocumentWriter(
  { store }: Pick<Session, "store">,
  { env, terminal }: Pick<CommandContext, "env" | "terminal">,
): PlanDocumentWriter | undefined {
  if (!store.shared) return undefined;
  return async (plan, { stack, digest, secrets, signal }) => {
    const hidden = [...secrets, env["STACKWRIGHT_TOKEN"] ?? ""].filter((text) => text !== "");
    const write = async (text: string): Promise<string> => {
      const bytes = Buffer.from(text, "utf8");
      if (bytes.length > MAX_DOCUMENT_BYTES) {
        throw new RangeError(
          `it has ${bytes.length} bytes, and at most ${MAX_DOCUMENT_BYTES} are kept`,
        );
      }
      return (await store.blobs.write(bytes, { owner: stack.account, ...(signal && { signal }) }))
        .sha256;
    };
    try {
      const view = planView(concealPlan(plan, hidden), { planDigest: digest });
      const texts = [planToJson(plan, digest, { secrets: hidden }), JSON.stringify(view)];
      const [documentSha256 = "", viewSha256 = ""] = await Promise.all(texts.map(write));
      return { documentSha256, viewSha256 };
    } catch (error) {
      signal?.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      terminal.writeError(
        `Warning: the server cannot show this plan, which was not kept for it: ${why}\n`,
      );
      return undefined;
    }
  };
}
