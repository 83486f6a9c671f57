"""Names of programs that run no code of the agent's whatever their arguments, sorted by what they do."""

from __future__ import annotations

from rubrics_gym.harness.router.options import words

STATE = words(
    "cd pushd popd export unset set shopt unalias umask ulimit readonly local declare typeset let setopt unsetopt hash read mapfile readarray getopts shift"
)
IDLE = words("true false : sleep wait exit return break continue disown fg bg deactivate clear reset logout")
READERS = words(
    "jobs dirs ls ll la dir vdir cat tac head tail more wc grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep stat du df pwd which whereis type whoami who w id "
    "groups uname hostname arch cal ncal uptime printenv echo printf nvidia-smi rocm-smi nvtop gpustat free top htop atop ps pgrep pstree pidof lscpu "
    "lsblk lspci lsusb lsmem lsmod lsof nproc getconf locale diff colordiff sdiff diff3 cmp comm cut paste join column nl tr rev fold fmt pr expand "
    "unexpand od hexdump hd strings base64 base32 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum cksum sum b2sum md5 shasum basename dirname "
    "realpath readlink history info help apropos whatis jq xq csvlook csvstat csvcut csvgrep csvhead csvsort csvjson in2csv xsv qsv test [ [[ seq "
    "expr bc numfmt zcat bzcat xzcat zstdcat lz4cat zless zmore zdiff zcmp zipinfo look dmesg netstat ss ifconfig lsb_release vmstat iostat mpstat "
    "sar exa eza lsd lsattr getfacl getfattr findmnt blkid tty stty locate mlocate plocate ldd objdump nm readelf size c++filt addr2line identify "
    "exiftool mediainfo ffprobe pdfinfo tokei cloc scc apt-cache apt-config dpkg-query nvidia-settings neofetch figlet yes tabulate "
    "timedatectl hostnamectl loginctl journalctl last lastlog getent namei factor tsort ptx h5ls h5dump h5stat ncdump parquet-tools duf dust ncdu glances btop "
    "lsns lslocks"
)
EDITORS = words("touch truncate patch pico dos2unix unix2dos fallocate")
TEXT_EDITORS = words("ed ex vi vim nvim view nano emacs micro joe mcedit kak hx")
MOVERS = words(
    "cp mv rm rmdir mkdir ln link unlink chmod chown chgrp chattr setfacl install zip unzip gzip gunzip pigz unpigz bzip2 bunzip2 pbzip2 xz unxz lzma unlzma "
    "zstd unzstd lz4 unlz4 7z 7za 7zr p7zip unrar rar unar cpio ar ranlib mkfifo mknod mktemp shred wipe kill pkill killall skill wget curl aria2c axel gdown kaggle hf "
    "huggingface-cli aws gsutil gcloud az rclone s3cmd mc scp sftp ftp lftp yt-dlp youtube-dl ping ping6 nslookup dig host traceroute tracepath whois "
    "systemctl service nginx apache2 apachectl apache2ctl httpd sync umount swapon swapoff tput logger git-lfs openssl gpg gpg2 ssh-keygen ssh-add "
    "ssh-keyscan update-alternatives ldconfig locale-gen update-ca-certificates useradd userdel usermod groupadd adduser passwd renice "
    "sysctl csplit ipcrm rename convert mogrify ffmpeg sox mkswap losetup clip xclip pbcopy pbpaste notify-send"
)
SYSTEM_INSTALLERS = words(
    "apt apt-get aptitude yum dnf microdnf apk brew pacman yay zypper snap flatpak easy_install cpan cpanm rustup add-apt-repository apt-key apt-mark "
    "port emerge nix-env guix tlmgr sdk asdf mise"
)
PACKAGE_TOOLS = words(
    "conda mamba micromamba npm yarn pnpm bun gem bundle bundler composer cargo go virtualenv poetry pipenv pdm uv rye pipx pixi pyenv rbenv nvm fnm volta opam stack "
    "cabal luarocks pre-commit playwright hatch"
)
INSTALL_WORDS = words(
    "install uninstall reinstall update upgrade add remove create sync i ci get mod venv self env config lock init clean python virtualenv fetch vendor "
    "require restore bootstrap autoremove purge local global setup inject ensurepath shell.bash install-deps"
)
QUERY_WORDS = words(
    "list ls show search info policy freeze tree outdated view version versions which where help madison depends rdepends cache check why audit doctor root "
    "prefix bin licenses explain --version -V --help -h -l -q -s -v --list"
)
LINTERS = words(
    "flake8 pyflakes pycodestyle pydocstyle mypy pyright pylint ruff shellcheck yamllint jsonlint hadolint vulture radon bandit"
)
FORMATTERS = words("black isort autopep8 yapf autoflake prettier clang-format shfmt gofmt rustfmt")
