// Nothing: the headers that all tests share are compiled beside this file. See CMakeLists.txt.
