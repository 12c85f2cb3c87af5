import { type ContentBlock, readBody } from "./body-content.ts";
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
  const place = new Map<string, string>();
  // The block is the reference command's: what is wrong in it is reported there.
  const reader = new StaticReader([]);
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
  read(block);
  const type = block.type === "cloud" ? "cloud" : (block.labels[0]?.value ?? "");
  return { type, place, body: block.body, range: block.headerRange };
}

/** An address without the user and the query, which may hold credentials. */
function withoutUser(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, "$1").replace(/\?.*$/s, "");
}
