import { ClientError } from "@stackwright/client";
import { describe, expect, it } from "vitest";
import { claimPauseMs, isRefusal } from "./claim-pause.ts";

const answered = (status: number) => new ClientError("conflict", "no", { status });

describe("the pause of a worker that gets no step", () => {
  it("doubles with each refusal, up to half a minute", () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 1_000].map((refusals) =>
      claimPauseMs(answered(409), refusals),
    );
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it("stays short where a server is away or busy", () => {
    const away = [new Error("no"), answered(503), answered(429)];
    expect(away.map((error) => [isRefusal(error), claimPauseMs(error, 9)])).toEqual([
      [false, 1_000],
      [false, 1_000],
      [false, 1_000],
    ]);
  });
});
