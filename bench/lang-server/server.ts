import { serveLanguage } from "@stackwright/lang-server";

// The language server alone, without providers, as a program of its own.
const server = serveLanguage({ input: process.stdin, output: process.stdout, version: "0.0.0" });
// The editor leaves the pipe open.
process.exit(await server.ended);
