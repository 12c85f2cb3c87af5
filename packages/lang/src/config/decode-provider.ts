import { type ContentBlock, readBody } from "./body-content.ts";
import { blockName } from "./decode-values.ts";
import type { ProviderConfig } from "./module-config.ts";
import type { StaticReader } from "./static-reader.ts";

/** Reads a `provider` block. */
export function decodeProvider(reader: StaticReader, block: ContentBlock): ProviderConfig {
  const { attributes } = readBody(
    block.body,
    { attributes: ["alias", "version", "for_each"] },
    reader.diagnostics,
    { ignore: true },
  );
  const version = attributes.get("version");
  if (version !== undefined) {
    reader.warn(
      "Version constraints inside provider configuration blocks are deprecated",
      "The version of a provider is declared in required_providers.",
      version.nameRange,
    );
  }
  const forEach = attributes.get("for_each");
  if (forEach !== undefined) {
    reader.fail(
      "for_each of providers is not supported",
      "A provider block with for_each has many instances in OpenTofu, which is not supported. Write a provider block with an alias for each instance.",
      forEach.nameRange,
    );
  }
  return {
    name: blockName(reader, block),
    alias: reader.text(attributes.get("alias")),
    version: reader.versions(version),
    range: block.headerRange,
    body: block.body,
  };
}
