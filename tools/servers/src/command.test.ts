import { describe, expect, it } from "vitest";
import { runServersCommand } from "./command.ts";

describe("the command line", () => {
  it.each([
    ["nothing", [], "usage:"],
    ["an unknown command", ["run"], "usage:"],
    ["exec without a command", ["exec", "true"], "exec needs a command after --"],
    ["an unknown server", ["exec", "--servers", "mysql", "--", "true"], 'no such server: "mysql"'],
    ["an unknown tool", ["exec", "--tools", "cobol", "--", "true"], 'no such tool: "cobol"'],
    ["serve without a server", ["serve"], "serve needs postgres, etcd or kubernetes"],
    ["an option of another command", ["serve", "etcd", "--tools", "all"], "unknown option --tools"],
    ["a cluster of none", ["serve", "etcd", "--members", "0"], "--members"],
    ["half a certificate", ["serve", "etcd", "--cert", "c.pem"], "--cert, --key and --ca"],
  ])("refuses %s", async (_, argv, message) => {
    let said = "";
    const code = await runServersCommand(argv, (text) => {
      said += text;
    });
    expect(code).toBe(2);
    expect(said).toContain(message);
  });
});
