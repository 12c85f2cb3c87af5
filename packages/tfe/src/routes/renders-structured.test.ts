import { expect, it } from "vitest";
import { rendersStructured } from "./renders-structured.ts";

it.each([
  ["cloud", "1.11.4", true],
  ["cloud", "1.4.0", true],
  ["cloud", "2.0.0", true],
  ["cloud", "1.3.9", false],
  ["cloud", undefined, false],
  [undefined, "1.11.4", false],
])(
  "lines for programs are for commands that render them: %s, %s",
  (integration, version, renders) => {
    const headers = {
      ...(integration !== undefined && { "x-terraform-integration": integration }),
      ...(version !== undefined && { "terraform-version": version }),
    };
    expect(rendersStructured({ headers })).toBe(renders);
  },
);
