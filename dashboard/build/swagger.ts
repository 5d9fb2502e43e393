/** Vite plugin that adds Swagger UI to the build. Its page and its start are in `public/swagger`. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Plugin } from "vite";

const require = createRequire(import.meta.url);
const read = (file: string) => readFileSync(require.resolve(`swagger-ui-dist/${file}`), "utf8");

/** The script names the file with its licenses. */
const LICENSES = "swagger-ui-bundle.js.LICENSE.txt";

/** Copies the files that the page loads into `swagger/`, without source maps and other variants. */
export function swagger(): Plugin {
  return {
    name: "gatehouse-swagger",
    apply: "build",
    generateBundle() {
      const emit = (file: string, source: string) => this.emitFile({ type: "asset", fileName: `swagger/${file}`, source });
      for (const file of ["swagger-ui-bundle.js", "swagger-ui.css"]) emit(file, read(file));
      emit(LICENSES, `${read("NOTICE")}\n${read("LICENSE")}\n${read(LICENSES)}`);
    },
  };
}
