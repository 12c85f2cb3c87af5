/** The kinds of problems that the configuration layer reports. Their summaries say more. */
export const CONFIG_PROBLEMS = {
  LANG_ADDRESS: "A text that is not the address of a module, resource or instance",
  LANG_BODY: "Content of a body that its schema does not allow, or that is missing",
  LANG_CYCLE: "Things that depend on themselves, directly or through others",
  LANG_MOVED: "Moved blocks that contradict each other or the configuration",
  LANG_REMOVED: "Removed blocks that contradict each other or the configuration",
  LANG_IMPORT: "Import blocks whose targets or ids are not possible",
  LANG_PROVIDER: "What a provider says about its configuration",
  LANG_CONFIG: "Declarations of a module that are wrong by themselves or together",
} as const;

/** Code of a kind of configuration problem. */
export type ConfigProblemCode = keyof typeof CONFIG_PROBLEMS;
