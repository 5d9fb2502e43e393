import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { fonts } from "./build/fonts.ts";
import { swagger } from "./build/swagger.ts";

const gateway = process.env.GATEHOUSE_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  base: "/admin/dashboard/",
  // The gateway moves the links of index.html below its base path; all other links are relative.
  experimental: { renderBuiltUrl: (_file, { hostType }) => (hostType === "html" ? undefined : { relative: true }) },
  plugins: [fonts(), swagger(), react(), tailwindcss()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // One file for the libraries that every page needs: it compresses better, and stays cached when the pages change.
    rolldownOptions: { output: { advancedChunks: { groups: [{ name: "base", test: /node_modules\/(react|react-dom|scheduler|@tanstack|openapi-fetch|lucide-react\/dist\/esm\/(createLucideIcon|Icon|context|defaultAttributes|shared))/ }, { name: "shell", test: /src\/(format\/|api\/(client|errors|query|sse)|app\/(session|overlays|theme|filters)|components\/(Button|cx|floating|layer|media|Note|Segmented|Select|EmptyState|Skeleton|Status|Menu|Popover)\.)/ }] } } },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(
      ["/admin/api", "/v1", "/health"].map((path) => [path, { target: gateway, changeOrigin: true, headers: { origin: gateway } }]),
    ),
  },
  preview: {
    proxy: Object.fromEntries(
      ["/admin/api", "/v1", "/health"].map((path) => [path, { target: gateway, changeOrigin: true, headers: { origin: gateway } }]),
    ),
  },
});
