import { type ConfigBody, type ContentBlock, readBody } from "./body-content.ts";
import type { EarlyScope } from "./early-scope.ts";
import type { BackendConfig } from "./module-config.ts";
import { StaticReader } from "./static-reader.ts";

/** Arguments that say where a state is, and hold no credentials. */
const PLACE = [
  "address",
  "bucket",
  "container_name",
  "hostname",
  "key",
  "name",
  "namespace",
  "organization",
  "path",
  "prefix",
  "project",
  "region",
  "schema_name",
  "secret_suffix",
  "storage_account_name",
  "workspace_dir",
  "workspace_key_prefix",
];

/** Reads where a `backend` or `cloud` block keeps its state, as far as that is written as constants. */
export function decodeBackend(block: ContentBlock): BackendConfig {
  const type = block.type === "cloud" ? "cloud" : (block.labels[0]?.value ?? "");
  return { type, place: placeIn(block.body), body: block.body, range: block.headerRange };
}

/** A backend whose arguments may refer to variables and locals. */
export function earlyBackend(backend: BackendConfig, early: EarlyScope): BackendConfig {
  return { ...backend, place: placeIn(backend.body, early), early };
}

function placeIn(outer: ConfigBody, early?: EarlyScope): Map<string, string> {
  const place = new Map<string, string>();
  // The block is the reference command's: what is wrong in it is reported there.
  const reader = new StaticReader(
    [],
    early && ((expression) => early.evaluate(expression, "the backend")),
  );
  const read = ({ body }: Pick<ContentBlock, "body">): void => {
    const content = readBody(
      body,
      { attributes: PLACE, blocks: { workspaces: [] } },
      reader.diagnostics,
      { ignore: true },
    );
    for (const [name, attribute] of content.attributes) {
      const text = reader.text(attribute);
      if (text !== undefined) place.set(name, withoutUser(text));
    }
    content.blocks.forEach(read);
  };
  read({ body: outer });
  return place;
}

/** An address without the user and the query, which may hold credentials. */
function withoutUser(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, "$1").replace(/\?.*$/s, "");
}
