import { hintOf } from "../command-error.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { ReadingOptions } from "./session.ts";

/** How a command reads that shows a state without its key: secrets are omitted after a warning, unless they are asked for. */
export function omitSecrets(
  { showSecrets = false }: { readonly showSecrets?: boolean },
  { terminal }: { readonly terminal: Pick<Terminal, "writeError"> },
): ReadingOptions {
  if (showSecrets) return {};
  let isWarned = false;
  return {
    onMissingKey: (error) => {
      if (isWarned) return;
      isWarned = true;
      const hint = hintOf(error);
      terminal.writeError(
        `Warning: Sensitive values are omitted: ${error.message}\n${hint === undefined ? "" : `\n${hint}\n`}\n`,
      );
    },
  };
}
