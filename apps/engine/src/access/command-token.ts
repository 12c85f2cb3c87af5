/** How long the token of a command is valid. */
export const COMMAND_TOKEN_MS = 90 * 24 * 3_600_000;
