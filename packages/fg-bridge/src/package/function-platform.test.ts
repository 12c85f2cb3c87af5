import { expect, it } from "vitest";
import { FUNCTION_PLATFORMS, programProblem, sizeProblem } from "./function-platform.ts";

const MiB = 1024 ** 2;

it("says what is larger than the platform takes", () => {
  const problem = (archive: number, unpacked: number) =>
    sizeProblem(FUNCTION_PLATFORMS.functiongraph, {
      archiveBytes: archive * MiB,
      unpackedBytes: unpacked * MiB,
    });
  expect(problem(300, 1500)).toBeUndefined();
  expect(problem(300.5, 900)).toBe("the archive has 301 MiB, and the platform takes 300 MiB");
  expect(problem(1, 1501)).toBe("its files have 1501 MiB, and the platform takes 1500 MiB");
});

it("knows programs of the platform by their first bytes", () => {
  const elf = (machine: number, isLittle = true) => {
    const head = Buffer.alloc(20);
    head.write("\x7fELF", "latin1");
    head[5] = isLittle ? 1 : 2;
    if (isLittle) head.writeUInt16LE(machine, 18);
    else head.writeUInt16BE(machine, 18);
    return head;
  };
  const { functiongraph, container } = FUNCTION_PLATFORMS;
  expect(programProblem(functiongraph, elf(62))).toBeUndefined();
  expect(programProblem(functiongraph, Buffer.from("#!/bin/sh\n"))).toBeUndefined();
  expect(programProblem(functiongraph, elf(183))).toContain("it is for arm64");
  expect(programProblem(container, elf(183))).toBeUndefined();
  expect(programProblem(container, elf(21, false))).toContain("another architecture");
  expect(programProblem(container, Buffer.from([0xcf, 0xfa, 0xed, 0xfe]))).toBe(
    "it is not a program for Linux",
  );
});
