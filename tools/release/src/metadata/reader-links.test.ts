import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { publishedPackages } from "../packages.ts";
import { addressOfFile, publicAddress } from "./public-address.ts";
import { linkForReaders } from "./reader-links.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const addressOf = (path: string): string => `https://code.acme.org/blob/v1/${path}`;
const page = "packages/tool/README.md";
const isPacked = (path: string): boolean => path === "packages/tool/FUNCTIONS.md";

describe("links of a page in a package", () => {
  it.each([
    ["[d](DESIGN.md)", "[d](https://code.acme.org/blob/v1/packages/tool/DESIGN.md)"],
    ["[d](./docs/a.md#b)", "[d](https://code.acme.org/blob/v1/packages/tool/docs/a.md#b)"],
    ["[`m`](../mux/README.md) x", "[`m`](https://code.acme.org/blob/v1/packages/mux/README.md) x"],
    ["![p](../../docs/p.png)", "![p](https://code.acme.org/blob/v1/docs/p.png)"],
    [
      '[a](../../a.md "t"), [b](b)',
      '[a](https://code.acme.org/blob/v1/a.md "t"), [b](https://code.acme.org/blob/v1/packages/tool/b)',
    ],
    [
      "[`x`](b.md) and `c`, `[d](e.md)` and [`f`](g.md)",
      "[`x`](https://code.acme.org/blob/v1/packages/tool/b.md) and `c`, `[d](e.md)` and [`f`](https://code.acme.org/blob/v1/packages/tool/g.md)",
    ],
    [
      "`a\nb` and [`x`](b.md)",
      "`a\nb` and [`x`](https://code.acme.org/blob/v1/packages/tool/b.md)",
    ],
    ["- a ` b\n- [`x`](b)", "- a ` b\n- [`x`](https://code.acme.org/blob/v1/packages/tool/b)"],
    ["[a](docs/100%.md)", "[a](https://code.acme.org/blob/v1/packages/tool/docs/100%.md)"],
    ["[a](docs/a%20b.md)", "[a](https://code.acme.org/blob/v1/packages/tool/docs/a b.md)"],
  ])("%s leads to the repository", (text, expected) => {
    expect(linkForReaders(text, { page, isPacked, addressOf })).toBe(expected);
  });

  it.each([
    "[f](FUNCTIONS.md), [h](#heading), [e](https://acme.org/a.md), [m](mailto:a@acme.org)",
    "`[a](b.md)` and\n\n```md\n[a](b.md)\n```\n",
    "``a ` [a](b.md)`` and\n\n  ```md\n  - `\n\n  [a](b.md)\n  ```\n",
  ])("%s stays", (text) => {
    expect(linkForReaders(text, { page, isPacked, addressOf })).toBe(text);
  });

  it("is text where the repository has no address", () => {
    const text = "See [the `design`](DESIGN.md) and [f](FUNCTIONS.md).";
    expect(linkForReaders(text, { page, isPacked, addressOf: undefined })).toBe(
      "See the `design` and [f](FUNCTIONS.md).",
    );
  });

  it.each([
    ["https://github.com/acme/tool.git", "https://github.com/acme/tool/blob/v1.2.0/docs/a%20b.md"],
    [
      "https://gitlab.acme.org/a/tool",
      "https://gitlab.acme.org/a/tool/-/blob/v1.2.0/docs/a%20b.md",
    ],
    [
      "https://codeberg.org/acme/tool",
      "https://codeberg.org/acme/tool/src/tag/v1.2.0/docs/a%20b.md",
    ],
  ])("the files of %s are those of the release", (repository, expected) => {
    const address = publicAddress({ repository }) ?? expect.fail();
    expect(addressOfFile(address, "1.2.0", "docs/a b.md")).toBe(expected);
  });

  it.each(publishedPackages(ROOT))(
    "%s/README.md links to nothing that its package lacks",
    (folder) => {
      const text = readFileSync(join(ROOT, folder, "README.md"), "utf8");
      const options = { page: `${folder}/README.md`, isPacked: () => false };
      const read = linkForReaders(text, { ...options, addressOf });
      expect(read).not.toMatch(/\]\((?![a-z]+:|#)/);
      expect(read).not.toContain("/blob/v1/..");
    },
  );
});
