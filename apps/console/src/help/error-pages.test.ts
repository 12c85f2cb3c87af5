import { describe, expect, it } from "vitest";
import { errorPages, linkCodes, mentionsOf } from "./error-pages.ts";

const LIST = `# Error codes

## cty

| Code       | Means              | Again | HTTP |
| ---------- | ------------------ | ----- | ---- |
| \`CTY_NULL\` | a value is missing |       |      |

## the API of the server

| Code         | Means             | Again | HTTP |
| ------------ | ----------------- | ----- | ---- |
| \`queue_full\` | the queue is full | yes   | 429  |
`;

describe("the page of an error code", () => {
  it("says what the code means, whose it is, and whether the same call may succeed later", () => {
    expect(errorPages(LIST)).toEqual([
      {
        path: "docs/error-codes/CTY_NULL.md",
        code: "CTY_NULL",
        markdown:
          "# `CTY_NULL`\n\nA code of [cty](../../packages/cty/README.md). [All codes](../error-codes.md)\n\n**A value is missing.**\n",
      },
      {
        path: "docs/error-codes/queue_full.md",
        code: "queue_full",
        markdown:
          "# `queue_full`\n\nA code of [the API of the server](../../apps/engine/docs/server.md). [All codes](../error-codes.md)\n\n**The queue is full.**\n\nThe same call may succeed later without a change of its arguments.\n\nA server answers it with the HTTP status 429.\n",
      },
    ]);
  });

  it("is where the list leads to", () => {
    expect(linkCodes(LIST)).toContain("| [`CTY_NULL`](error-codes/CTY_NULL.md) | a value");
  });

  it("leads to the pages that name the code, and not to the list", () => {
    const pages = [
      { path: "docs/a.md", title: "A", text: "It may be CTY_NULL." },
      { path: "docs/b.md", title: "B", text: "It may be CTY_NULLS." },
      { path: "docs/error-codes.md", title: "Error codes", text: "CTY_NULL" },
    ];
    expect(mentionsOf("CTY_NULL", pages)).toBe("## Pages that name it\n\n- [A](../../docs/a.md)\n");
    expect(mentionsOf("queue_full", pages)).toBe("");
  });

  it("names no pages for a code that is a usual word", () => {
    const page = { path: "docs/a.md", title: "A", text: "What has changed is shown." };
    expect(mentionsOf("changed", [page])).toBe("");
  });
});
