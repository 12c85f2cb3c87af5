import { type RpcCode, RpcError } from "@stackwright/proto/grpc";
import { describe, expect, it } from "vitest";
import { combineFailures } from "./combine-errors.ts";

function failure(code: RpcCode, message: string, ...details: string[]): RpcError {
  const any = (text: string) => ({ typeUrl: "type/x", value: Buffer.from(text) });
  return new RpcError(code, message, { details: details.map(any) });
}

function combine(servers: number, ...errors: RpcError[]): RpcError | undefined {
  return combineFailures(
    errors.map((error, index) => ({ server: `s${index}`, error })),
    servers,
  );
}

describe("combineFailures", () => {
  it("is nothing when servers only lack the method and some have it", () => {
    expect(combine(2, failure("UNIMPLEMENTED", "no"))).toBeUndefined();
  });

  it("is unimplemented when no server has the method, however alike their texts are", () => {
    const no = failure("UNIMPLEMENTED", "no");
    expect(combine(2, no, no)?.code).toBe("UNIMPLEMENTED");
  });

  it("is the one error itself", () => {
    const only = failure("INVALID_ARGUMENT", "bad", "d");
    expect(combine(3, failure("UNIMPLEMENTED", "no"), only)).toBe(only);
  });

  it("counts errors that differ in request ids alone once", () => {
    const one = failure("UNKNOWN", "bad (request 0b5a7b2e-1c2d-4e5f-8a9b-0c1d2e3f4a5b)");
    const two = failure("UNKNOWN", "bad (request 1b5a7b2e-1c2d-4e5f-8a9b-0c1d2e3f4a5c)");
    expect(combine(2, one, two)).toBe(one);
  });

  it("keeps texts and details of all under the code of the first", () => {
    const result = combine(
      2,
      failure("INVALID_ARGUMENT", "m0", "a"),
      failure("DEADLINE_EXCEEDED", "m1", "b"),
    );
    expect(result?.code).toBe("INVALID_ARGUMENT");
    expect(result?.rawMessage).toBe(
      "2 errors occurred:\n\t* s0: rpc error: code = InvalidArgument desc = m0\n\t* s1: rpc error: code = DeadlineExceeded desc = m1\n",
    );
    expect(result?.details.map(({ value }) => Buffer.from(value).toString())).toEqual(["a", "b"]);
  });

  it("keeps the details of all even when their texts are equal", () => {
    const one = failure("UNKNOWN", "missing", "a");
    const two = failure("UNKNOWN", "missing", "b");
    const result = combine(2, one, two);
    expect(result?.rawMessage).toBe("missing");
    expect(result?.details).toHaveLength(2);
  });
});
