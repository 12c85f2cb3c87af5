import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { toStorageError } from "./server-error.ts";

const failure = (code: string) => Object.assign(new Error(`it says ${code}`), { code });

describe("toStorageError", () => {
  it("says that the database cannot be reached, and that nothing was written", () => {
    const error = toStorageError(failure("ENOTFOUND"), "write");
    expect(error).toMatchObject({ code: "STORAGE_INCONSISTENT", retryable: true });
    expect(error.details).toEqual({ outcome: "not-applied" });
    expect(error.message).toBe("the database of the store cannot be reached: it says ENOTFOUND");
    expect(toStorageError(failure("ECONNREFUSED"), "read").details).toEqual({});
  });

  it("leaves open what became of a write whose connection was lost", () => {
    const error = toStorageError(failure("CONNECTION_CLOSED"), "write");
    expect(error).toMatchObject({ code: "STORAGE_INCONSISTENT", details: { outcome: "unknown" } });
  });

  it("tells damage that the server has found from a failure that passes", () => {
    // The types name a text; the library hands over the fields that the server has sent.
    const Failure = postgres.PostgresError as unknown as new (fields: object) => Error;
    const fields = { message: "missing chunk number 0", code: "XX001", severity: "ERROR" };
    const found = new Failure(fields);
    const error = toStorageError(found, "read");
    expect(error).toMatchObject({ code: "STORAGE_CORRUPT", retryable: false });
    expect(error.message).toContain("missing chunk number 0");
    // It may be that of a sequence, which is read after the commit.
    expect(toStorageError(found, "write").details).toEqual({ outcome: "unknown" });
  });

  it.each([
    ["55P03", "not-applied"],
    ["22021", "not-applied"],
    ["57014", "unknown"],
    ["53200", "unknown"],
  ])("of the error %s of a statement the outcome of a write is %s", (code, outcome) => {
    const Failure = postgres.PostgresError as unknown as new (fields: object) => Error;
    const error = new Failure({ message: "it failed", code, severity: "ERROR" });
    expect(toStorageError(error, "write").details).toEqual({ outcome });
  });

  it("knows that nothing was committed where the functions that write have failed, as on a full disk", () => {
    const Failure = postgres.PostgresError as unknown as new (fields: object) => Error;
    const message = "could not extend file: No space left on device";
    const fields = { message, code: "53100", severity: "ERROR" };
    const where = (line: string) => ({ ...fields, where: line });
    const within = new Failure(where("PL/pgSQL function apply_group(integer[]) line 70 at SQL"));
    expect(toStorageError(within, "write")).toMatchObject({
      message: `the disk of the store's server is full: ${message}`,
      details: { outcome: "not-applied" },
    });
    const behind = new Failure(where("PL/pgSQL function write_group(integer[]) line 20 at CALL"));
    expect(toStorageError(behind, "write").details).toEqual({ outcome: "unknown" });
  });

  it("tells a right that is missing behind the commit of a group from one that is missing before", () => {
    const Failure = postgres.PostgresError as unknown as new (fields: object) => Error;
    const message = "permission denied for sequence durable_revision";
    const fields = { message, code: "42501", severity: "ERROR" };
    const behind = new Failure({
      ...fields,
      where: "PL/pgSQL function write_alone(integer[]) line 24 at IF",
    });
    expect(toStorageError(behind, "write")).toMatchObject({
      code: "STORAGE_INCONSISTENT",
      message,
      details: { outcome: "unknown" },
    });
    for (const where of [
      undefined,
      "PL/pgSQL function apply_steps(integer[]) line 7 at SQL\nPL/pgSQL function write_group(integer[]) line 21",
    ]) {
      const before = new Failure({ ...fields, where });
      expect(toStorageError(before, "write")).toMatchObject({ code: "STORAGE_PERMISSION_DENIED" });
    }
    expect(toStorageError(behind, "read")).toMatchObject({ code: "STORAGE_PERMISSION_DENIED" });
  });

  it("finds what the server says behind what the migrator makes of it", () => {
    const Failure = postgres.PostgresError as unknown as new (fields: object) => Error;
    const message = "permission denied for schema stackwright";
    const refusal = new Failure({ message, code: "42501", severity: "ERROR" });
    const wrapped = new Error("Failed query: CREATE TABLE", { cause: refusal });
    const error = toStorageError(wrapped, "read");
    expect(error).toMatchObject({ code: "STORAGE_PERMISSION_DENIED", retryable: false, message });
  });

  it("hands on what is one already", () => {
    const error = toStorageError(failure("ECONNREFUSED"), "write");
    expect(toStorageError(error, "read")).toBe(error);
  });
});
