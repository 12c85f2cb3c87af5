import { expect, it } from "vitest";
import { parseProviderArguments } from "./provider-arguments.ts";

const NONE = { engineAddress: undefined, logToStderr: false, verbosity: 0, tracing: undefined };

it.each([
  [[], NONE],
  [["127.0.0.1:1"], { ...NONE, engineAddress: "127.0.0.1:1" }],
  [
    ["--logtostderr", "-v=9", "--tracing", "file:/t", "127.0.0.1:1"],
    { engineAddress: "127.0.0.1:1", logToStderr: true, verbosity: 9, tracing: "file:/t" },
  ],
  [
    ["-v", "3", "--tracing=x", "e:1"],
    { ...NONE, engineAddress: "e:1", verbosity: 3, tracing: "x" },
  ],
  [["--future-flag=1", "e:1", "more"], { ...NONE, engineAddress: "e:1" }],
])("reads %j", (argv, expected) => {
  expect(parseProviderArguments(argv)).toEqual(expected);
});
