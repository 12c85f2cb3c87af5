import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A plan in JSON that creates one object. */
export const PLAYED_PLAN = {
  format_version: "1.2",
  terraform_version: "1.11.4",
  applyable: true,
  resource_changes: [
    {
      address: "terraform_data.a",
      mode: "managed",
      type: "terraform_data",
      name: "a",
      provider_name: "terraform.io/builtin/terraform",
      change: {
        actions: ["create"],
        before: null,
        after: { input: "x", triggers_replace: null },
        after_unknown: { id: true, output: true },
        before_sensitive: false,
        after_sensitive: {},
      },
    },
  ],
};

/** What a tool records at `init`: the backend that the override names. */
export const PLAYED_INIT = `mkdir -p "$TF_DATA_DIR"
path=$(sed -n 's/^ *path *= "\\(.*\\)"$/\\1/p' *_override.tf)
printf '{"backend":{"type":"local","config":{"path":"%s"}}}' "$path" > "$TF_DATA_DIR/terraform.tfstate"`;

const STATE =
  '{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l-1","outputs":{},"resources":[]}';

/** What the parts of a played tool are, as lines of a shell; each has a usual one. */
interface PlayedParts {
  readonly plan?: string;
  readonly show?: string;
  readonly apply?: string;
  readonly init?: string;
}

/** A program that does as terraform does, written for a test. Resolves with its path. */
export async function playedTool(parts: PlayedParts = {}): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "played-tool-"));
  onTestFinished(() => scratch.remove());
  const path = join(scratch.path, "tool.sh");
  const json = JSON.stringify(PLAYED_PLAN);
  const {
    init = PLAYED_INIT,
    plan = "exit 2",
    show = `printf '%s' '${json}'`,
    apply = `printf '%s' '${STATE}' > "$state"`,
  } = parts;
  const lines = `#!/bin/sh
state=$(sed -n 's/^ *workspace_dir *= "\\(.*\\)"$/\\1/p' *_override.tf)/$TF_WORKSPACE/terraform.tfstate
case "$1" in
version) echo '{"terraform_version":"1.11.4"}' ;;
init)
${init}
;;
plan)
for word in "$@"; do case "$word" in -out=*) echo saved > "\${word#-out=}" ;; esac; done
${plan}
;;
show)
${show}
;;
apply)
${apply}
;;
esac
`;
  await writeFile(path, lines, { mode: 0o700 });
  return path;
}
