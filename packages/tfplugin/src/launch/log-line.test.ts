import { expect, it } from "vitest";
import { parseLogLine } from "./log-line.ts";

it.each([
  ["plain", { level: "debug", message: "plain", fields: {} }],
  [
    "2026/01/02 03:04:05 [WARN] careful",
    { level: "warn", message: "2026/01/02 03:04:05 [WARN] careful", fields: {} },
  ],
  ["[ERROR] bad", { level: "error", message: "[ERROR] bad", fields: {} }],
  ["panic: runtime error", { level: "error", message: "panic: runtime error", fields: {} }],
  ['{"a":1}', { level: "debug", message: '{"a":1}', fields: {} }],
  ["{broken", { level: "debug", message: "{broken", fields: {} }],
  [
    '{"@level":"info","@message":"hi","@module":"provider","@timestamp":"t","x":[1]}',
    { level: "info", message: "hi", module: "provider", timestamp: "t", fields: { x: [1] } },
  ],
  ['{"@level":"loud","@message":"hi"}', { level: "debug", message: "hi", fields: {} }],
] as const)("reads %s", (line, expected) => {
  expect(parseLogLine(line)).toEqual(expected);
});
