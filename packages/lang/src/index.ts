// Addresses.

export type {
  Address,
  ModuleAddress,
  ModulePath,
  ModuleStep,
  ResourceAddress,
} from "./address/address.ts";
export {
  compareAddresses,
  compareModulePaths,
  configAddress,
  containsAddress,
  equalAddresses,
  formatAddress,
  formatKey,
  formatModulePath,
  resourceAt,
} from "./address/address.ts";
export {
  evaluateAddress,
  parseAddress,
  traversalAddress,
  type UnkeyedAddress,
  unkeyedAddress,
} from "./address/parse-address.ts";
export type { ProviderConfigAddress } from "./address/provider-config-address.ts";
export { formatProviderConfig, parseProviderConfig } from "./address/provider-config-address.ts";
// Configuration.
export type { BackendArgumentValues } from "./config/backend-arguments.ts";
export { backendArguments, backendFileArguments } from "./config/backend-arguments.ts";
export type {
  BodyContent,
  BodySchema,
  ConfigBody,
  ContentAttribute,
  ContentBlock,
  ContentLabel,
  JsonBody,
  MergedBody,
  ReadBodyOptions,
} from "./config/body-content.ts";
export { bodyRange, jsonRootBody, readAttributes, readBody } from "./config/body-content.ts";
export { bodyReferences } from "./config/body-references.ts";
export type { ReferenceOwner } from "./config/check-references.ts";
export { checkReferences, referenceOwners, resourceAddress } from "./config/check-references.ts";
export type { ConditionResult } from "./config/condition.ts";
export { checkCondition } from "./config/condition.ts";
export type { ConfigProblemCode } from "./config/config-problem.ts";
export { CONFIG_PROBLEMS } from "./config/config-problem.ts";
export { PROVISIONER_META } from "./config/decode-provisioner.ts";
export type { EarlyValues } from "./config/early-scope.ts";
export type { Expansion } from "./config/expansion.ts";
export { expandRepetition } from "./config/expansion.ts";
export type { ExportedJson } from "./config/export-json.ts";
export { exportJson } from "./config/export-json.ts";
export { checkValidations, evaluateInput } from "./config/input-value.ts";
export type { LoadedModule, LoadModuleOptions } from "./config/load-module.ts";
export { loadModule } from "./config/load-module.ts";
export type {
  LoadedTree,
  ModuleNode,
  ModulePackageLocation,
  ModulePackages,
  PackageRequest,
  TreeOptions,
} from "./config/load-tree.ts";
export { loadCalledTree, loadModuleTree } from "./config/load-tree.ts";
export type {
  BackendConfig,
  CheckConfig,
  ConditionRule,
  ImportConfig,
  LifecycleConfig,
  LocalConfig,
  ModuleCall,
  ModuleConfig,
  MovedConfig,
  OutputConfig,
  ProviderConfig,
  ProviderConfigReference,
  ProvisionerConfig,
  RemovedConfig,
  Repetition,
  RequiredProvider,
  ResourceConfig,
  ResourceMode,
  VariableConfig,
} from "./config/module-config.ts";
export type { ModuleFiles } from "./config/module-files.ts";
export { selectModuleFiles, selectVariableFiles } from "./config/module-files.ts";
export type { InstanceContext, ModuleScope, ModuleValues } from "./config/module-scope.ts";
export { createModuleScope } from "./config/module-scope.ts";
export type {
  ModuleSource,
  PackageSource,
  RegistryModuleSource,
  RemoteModuleSource,
} from "./config/module-source.ts";
export {
  formatModuleSource,
  hideCredentials,
  ModuleError,
  packageFolder,
  parseModuleSource,
  splitFolder,
} from "./config/module-source.ts";
export type { EvaluatedOutput } from "./config/output-value.ts";
export { evaluateOutput } from "./config/output-value.ts";
export type { InstanceKey, Reference, ReferenceSubject } from "./config/reference.ts";
export { parseReference } from "./config/reference.ts";
export type {
  EncryptionBlock,
  EncryptionConfig,
  StateEncryption,
} from "./config/state-encryption.ts";
export { remoteStateMethods, stateEncryption } from "./config/state-encryption.ts";
export type { TokenTypeLabel } from "./config/type-label.ts";
export type { VariableValueOrigin, VariableValues } from "./config/variable-values.ts";
export { resolveVariables } from "./config/variable-values.ts";
export type { ConsoleAnswer, ConsoleOptions } from "./console/console.ts";
// The console.
export { consoleScope, evaluateLine, runConsole } from "./console/console.ts";
export { consoleEntries, expressionContinues } from "./console/console-entry.ts";
export { typeText } from "./console/type-text.ts";
export { valueText } from "./console/value-text.ts";
export type { EvaluationLimits } from "./eval/context.ts";
export type { EvalProblemCode } from "./eval/eval-problem.ts";
export { EVAL_PROBLEMS } from "./eval/eval-problem.ts";
export type { Evaluated } from "./eval/evaluate.ts";
// Evaluation.
export { evaluate } from "./eval/evaluate.ts";
export type { ReasonStep, ValueTrait } from "./eval/explain.ts";
export { explainTrait, traitText } from "./eval/explain.ts";
export type {
  ExpressionFunction,
  FunctionCategory,
  LangFunction,
  Parameter,
  ValueFunction,
} from "./eval/function.ts";
export { FunctionError, functionSignature } from "./eval/function.ts";
export type { FunctionTable } from "./eval/function-table.ts";
// Functions.
export { createFunctionTable } from "./eval/function-table.ts";
export type { BundleFiles, FunctionHost, Machine } from "./eval/host.ts";
export type { EvaluationScope, Resolved } from "./eval/scope.ts";
export { createScope } from "./eval/scope.ts";
export type { DirectoryLimits } from "./function/directory-files.ts";
export { createDirectoryFiles } from "./function/directory-files.ts";
export { functionReference } from "./function/documentation.ts";
export { EMPTY_BUNDLE } from "./function/empty-bundle.ts";
export type { FileRead } from "./function/file-reads.ts";
export { changedReads, FileReads } from "./function/file-reads.ts";
export { STANDARD_FUNCTIONS } from "./function/library.ts";
export type {
  ProviderCall,
  ProviderCallResult,
  ProviderFunctionResolver,
  ProviderFunctionSchema,
  ProviderFunctionTable,
  ProviderParameter,
} from "./function/provider-functions.ts";
export { evaluateSettled, withProviderFunctions } from "./function/provider-functions.ts";
export type { ConfigGraph } from "./graph/build-graph.ts";
export { buildGraph } from "./graph/build-graph.ts";
export type { TreeCheckOptions } from "./graph/check-tree.ts";
export { checkExpression, checkTree } from "./graph/check-tree.ts";
export { resourceNodeId } from "./graph/declare-nodes.ts";
export type { EdgeReason, GraphNode } from "./graph/graph-node.ts";
export { graphClosure, nodesOf } from "./graph/graph-query.ts";
export { impliedProviderName, providerReference } from "./graph/module-resources.ts";
export type {
  ModuleProviderRequirement,
  ProviderKey,
  ProviderResolution,
  RequiringModule,
  ResolvedProvider,
} from "./graph/provider-resolution.ts";
export type { ProviderOptions } from "./graph/resolve-providers.ts";
// The tree of modules as a whole.
export { resolveProviders } from "./graph/resolve-providers.ts";
export type { MoveResult } from "./refactor/apply-moves.ts";
export { applyMoves, withImpliedMoves } from "./refactor/apply-moves.ts";
export type { ResolvedImport } from "./refactor/import-blocks.ts";
export { evaluateImports } from "./refactor/import-blocks.ts";
export type { MoveStatement } from "./refactor/move-pattern.ts";
export { moveAddress } from "./refactor/move-pattern.ts";
export { checkMovedInstances } from "./refactor/moved-blocks.ts";
export type { Refactoring } from "./refactor/refactoring.ts";
// Moved, removed and imported objects.
export { collectRefactoring } from "./refactor/refactoring.ts";
export type { RemovedStatement } from "./refactor/removed-blocks.ts";
export { removedBy } from "./refactor/removed-blocks.ts";
export { validateImports } from "./refactor/validate-imports.ts";
export type { AttributeLocation, BodyProblem } from "./schema/attribute-location.ts";
// Bodies by the schemas of providers.
export { providerDiagnostic } from "./schema/attribute-location.ts";
export type {
  BindOptions,
  BindResult,
  BoundAttribute,
  BoundBlock,
  BoundBlocks,
  BoundBody,
} from "./schema/bind-body.ts";
export { bindBody, PROVIDER_META, RESOURCE_META } from "./schema/bind-body.ts";
export type {
  SchemaAttribute,
  SchemaBlock,
  SchemaBlockType,
  SchemaNesting,
} from "./schema/block-schema.ts";
export { schemaType } from "./schema/block-schema.ts";
export type { EvaluateBodyOptions, EvaluatedBody } from "./schema/evaluate-body.ts";
export { emptyBlock, evaluateBody } from "./schema/evaluate-body.ts";
export type {
  Attribute,
  AttributeStep,
  Binary,
  BinaryOperator,
  Block,
  BlockLabel,
  Body,
  BodyItem,
  BooleanLiteral,
  Conditional,
  Expression,
  For,
  FunctionCall,
  IndexExpression,
  IndexStep,
  Invalid,
  JsonString,
  NullLiteral,
  NumberLiteral,
  ObjectConstructor,
  ObjectItem,
  ObjectKey,
  Parentheses,
  RelativeTraversal,
  ScopeTraversal,
  Splat,
  SplatItem,
  StringLiteral,
  SyntaxFile,
  SyntaxNode,
  Template,
  TemplateJoin,
  TemplateWrap,
  TraversalStep,
  Tuple,
  Unary,
} from "./syntax/ast.ts";
export type {
  CalledParameter,
  Diagnostic,
  FunctionCallFrame,
  ObservedValue,
  Severity,
} from "./syntax/diagnostic.ts";
// Diagnostics.
export {
  consolidateWarnings,
  hasErrors,
  sortDiagnostics,
  sourceRange,
} from "./syntax/diagnostic.ts";
export type { Formatted } from "./syntax/format.ts";
export { formatFile } from "./syntax/format.ts";
export { isIdentifier } from "./syntax/identifier.ts";
export { jsonExpression } from "./syntax/json-expression.ts";
export { parseJson } from "./syntax/json-parser.ts";
export type {
  JsonArrayNode,
  JsonBooleanNode,
  JsonFile,
  JsonInvalidNode,
  JsonMember,
  JsonNullNode,
  JsonNumberNode,
  JsonObjectNode,
  JsonStringNode,
  JsonSyntaxNode,
} from "./syntax/json-tree.ts";
export { jsonTextSource } from "./syntax/json-tree.ts";
export type { SyntaxLimits } from "./syntax/limits.ts";
export type { SourceInput } from "./syntax/open-source.ts";
export type { Parsed } from "./syntax/parse.ts";
export { parseExpression, parseFile, parseTemplate, parseTraversal } from "./syntax/parse.ts";
export type { SyntaxProblemCode } from "./syntax/problem.ts";
export { SYNTAX_PROBLEMS } from "./syntax/problem.ts";
export { quoteLiteral } from "./syntax/quote.ts";
export { expressionCalls, expressionReferences } from "./syntax/references.ts";
export type {
  JsonDiagnostic,
  JsonFunction,
  JsonFunctionParameter,
  JsonPosition,
} from "./syntax/render-json.ts";
export { diagnosticToJson } from "./syntax/render-json.ts";
export type { TerminalOptions } from "./syntax/render-terminal.ts";
export { renderDiagnostic } from "./syntax/render-terminal.ts";
export type { Snippet } from "./syntax/snippet.ts";
export { diagnosticSnippet } from "./syntax/snippet.ts";
export type { Embedding, LocatedRange, Position, SourceRange } from "./syntax/source-file.ts";
export { SourceFile } from "./syntax/source-file.ts";
export type { Static } from "./syntax/static.ts";
export {
  nativeForm,
  staticCall,
  staticKeyword,
  staticList,
  staticMap,
  staticTraversal,
} from "./syntax/static.ts";
export { didYouMean, suggestName } from "./syntax/suggestion.ts";
export type { TokenBuffer } from "./syntax/token.ts";
export { TokenKind } from "./syntax/token.ts";
export { childExpressions } from "./syntax/walk.ts";
export type { MockFile } from "./test-file/load-test-file.ts";
// Tests.
export {
  loadMockFile,
  loadTestFile,
  selectMockFiles,
  selectTestFiles,
} from "./test-file/load-test-file.ts";
export type {
  ExpectedFailure,
  MockDefaults,
  MockProvider,
  TestFile,
  TestOverride,
  TestPlanOptions,
  TestProvider,
  TestRun,
} from "./test-file/test-file.ts";
export type { ParsedTypeConstraint, TypeConstraint } from "./type/type-constraint.ts";
// Type constraints.
export { parseTypeConstraint } from "./type/type-constraint.ts";
export type { TypeDefaults } from "./type/type-defaults.ts";
export { applyTypeDefaults } from "./type/type-defaults.ts";
