import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/api/schema.d.ts"] },
  ...tseslint.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    plugins: { "react-hooks": reactHooks },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",
      // A leading _ says that a member is left out on purpose.
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "max-lines": ["error", { max: 250 }],
      "no-restricted-globals": ["error", "sessionStorage"],
      "no-restricted-properties": ["error", { object: "window", property: "sessionStorage" }],
    },
  },
  {
    // Fixtures of Playwright are functions named `use`; answers of the API are compared as they come.
    files: ["tests/**/*.ts"],
    rules: { "react-hooks/rules-of-hooks": "off", "@typescript-eslint/no-explicit-any": "off", "no-restricted-globals": "off" },
  },
);
