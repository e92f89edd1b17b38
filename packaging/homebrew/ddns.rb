# The formula of a release; packaging/pack fills in what stands between @ signs. It has no service: `ddns service install`
# does not know macOS.
class Ddns < Formula
  desc "Dynamic DNS client that sends the host's address to any HTTP endpoint"
  homepage "@HOME@"
  version "@VERSION@"
  license "MIT"

  on_linux do
    on_intel do
      url "@HOME@/releases/download/v@VERSION@/ddns-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@X86_64@"
    end
    on_arm do
      url "@HOME@/releases/download/v@VERSION@/ddns-@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@AARCH64@"
    end
  end

  on_macos do
    url "@HOME@/releases/download/v@VERSION@/ddns-@VERSION@.tar.gz"
    sha256 "@SOURCE@"
    depends_on "rust" => :build
  end

  def install
    if OS.mac?
      system "cargo", "install", *std_cargo_args(path: "crates/ddns")
      generate_completions_from_executable(bin/"ddns", "completions")
      (man1/"ddns.1").write Utils.safe_popen_read(bin/"ddns", "man")
    else
      bin.install "ddns"
      man1.install "ddns.1"
      bash_completion.install "completions/ddns.bash" => "ddns"
      zsh_completion.install "completions/_ddns"
      fish_completion.install "completions/ddns.fish"
    end
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ddns --version")
    assert_match "accepted", shell_output("#{bin}/ddns demo")
  end
end
