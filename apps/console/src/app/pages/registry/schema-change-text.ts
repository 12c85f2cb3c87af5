import type { Operations } from "@stackwright/client";

export type SchemaChange = Operations["ListSchemaChanges"]["output"]["changes"][number];

const PARTS: Readonly<Record<SchemaChange["of"], string>> = {
  provider: "configuration of the provider",
  resource: "resource",
  data: "data source",
  ephemeral: "ephemeral resource",
  function: "function",
};

/** `resource notes_note` */
export function typeTitle({ of, name }: Pick<SchemaChange, "of" | "name">): string {
  return name === "" ? PARTS[of] : `${PARTS[of]} ${name}`;
}

/** What is different, in words. */
export function changeText({ change, before, after }: SchemaChange): string {
  const isSet = after === "yes";
  switch (change) {
    case "added":
      return after === "" ? "is new" : `is new: ${after}`;
    case "removed":
      return before === "" ? "is gone" : `is gone: ${before}`;
    case "type":
      return `is ${after}, was ${before}`;
    case "mode":
      return `is ${after}, was ${before}`;
    case "sensitive":
      return isSet ? "is sensitive now" : "was sensitive before";
    case "write-only":
      return isSet ? "is written and not stored now" : "is stored now";
    case "deprecated":
      return isSet ? "is deprecated now" : "was deprecated before";
    case "nesting":
      return `is a ${after}, was a ${before}`;
    case "items":
      return `may be there ${after}, was ${before}`;
    case "version":
      return Number(after) > Number(before)
        ? `stored objects are upgraded from version ${before} to ${after}`
        : `stored objects of version ${before} cannot be read: it knows ${after}`;
    case "signature":
      return `is called as ${after}, was ${before}`;
    default:
      // A server of a later release knows more of them.
      return `is ${after}, was ${before}`;
  }
}
